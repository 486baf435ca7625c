"""Beside the judging: what fails in alerts stops no judgement, and a service that is killed in between loses none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.alerts.conftest import HERE, Desk
from tests.app.alerts.receivers import Receiver
from tests.app.conftest import on_sqlite_alone
from tests.app.made_diagnosis import made_diagnosis
from tests.app.made_windows import made_window
from tests.app.serving import poll, settings_for
from tests.app.store.posting import post
from underfed_server.alerts import watcher
from underfed_server.diagnose import FoundDiagnosis, found_in
from underfed_server.main import create_app
from underfed_server.settings import Settings
from underfed_server.store.alerts.rules import NewRule
from underfed_server.store.reading.spark import Curve
from underfed_server.store.runs.audit_log import UNKNOWN
from underfed_server.store.store import Store


def judge(_: Store, run_id: str) -> tuple[FoundDiagnosis, Curve]:
    return found_in(made_diagnosis(run_id)), []


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    return replace(settings_for(tmp_path), alerts=HERE, database_url=database_url)


def test_a_run_that_is_judged_is_reported_by_the_service_itself(settings: Settings, receiver: Receiver) -> None:
    application = create_app(settings, judge)
    try:
        alerting, store = application.parts.alerting, application.parts.store
        channel = alerting.make_channel("ops", "webhook", receiver.url, (), None, UNKNOWN)
        rule = NewRule("data_bound", 0.2, 0, 0, True, channel.channel_id, None, None, "http://page")
        alerting.make_rule(rule, None, UNKNOWN)
        post(store, [made_window(0)])
        assert receiver.wait()[0].verified(channel.secret or "")["data"]["run_id"] == "run-1"
        poll(lambda: store.alerts(None, 1, None).alerts[0].state == "sent")
    finally:
        application.close()


@on_sqlite_alone
def test_what_fails_in_alerts_stops_no_judgement(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(watcher.AlertWatcher, "__call__", fail)
    monkeypatch.setattr(watcher.AlertWatcher, "look_again", fail)
    application = create_app(settings, judge)
    try:
        store = application.parts.store
        post(store, [made_window(0)])
        poll(lambda: store.unjudged() == [])
        assert store.diagnosis("run-1") is not None
    finally:
        application.close()


@on_sqlite_alone
def test_a_service_that_is_killed_after_it_looked_looks_again_and_reports_once(desk: Desk) -> None:
    desk.rule(desk.channel("http://127.0.0.1:9").channel_id)
    desk.judged()
    assert desk.store.unjudged() == ["run-1"], "it is noted as judged only after that"
    desk.restart()
    desk.alerting.watcher("run-1")
    assert len(desk.log) == 1
