"""``underfed alerts`` against a real service."""

from __future__ import annotations

import io
import ipaddress
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.alerts.receivers import Receiver, receiving
from tests.app.api.visitors import ROOT
from tests.app.serving import serving, settings_for
from underfed_server.main import create_app
from underfed_server.settings import SECRET_KEY_NAME, AlertSettings
from underfed_server.terminal.alerts import alerts


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as opened:
        yield opened


@pytest.fixture(autouse=True)
def service(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    sending = AlertSettings(
        networks=(ipaddress.ip_network("127.0.0.1"),), keys=("x" * 32,), key_path=tmp_path / SECRET_KEY_NAME
    )
    settings = replace(settings_for(tmp_path, token=ROOT), alerts=sending, database_url=database_url)
    with serving(create_app(settings), settings) as served:
        monkeypatch.setenv("UNDERFED_URL", served)
        monkeypatch.setenv("UNDERFED_TOKEN", ROOT)
        yield served


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert alerts(words) == code
    shown = capsys.readouterr()
    return shown.err if code else shown.out


def test_a_channel_is_added_with_rules_tried_listed_and_removed(
    receiver: Receiver, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Nobody is told" in said(capsys, "list")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{receiver.url}/hook\n"))
    added = said(
        capsys, "add", "--webhook", "-", "--name", "ops", "--when", "memory", "--when", "straggler", "--for", "90s"
    )
    secret = next(line for line in added.splitlines() if line.startswith("whsec_"))
    assert said(capsys, "test", "ops") == f"ops received the test message: webhook to {receiver.url}.\n"
    assert receiver.got[0].verified(secret)["data"]["title"] == "Underfed can reach the channel ops"
    said(capsys, "add", "--channel", "ops", "--when", "data_bound", "--threshold", "0.3", "--user", "ada")
    listed = said(capsys, "list")
    for shown in ("ops", "memory runs out, within 24 h, for 1.5 min", "waits for data, from 30%, for 10 min", "ada"):
        assert shown in listed
    assert secret not in listed
    found = json.loads(said(capsys, "list", "--json"))
    assert "is removed" in said(capsys, "remove", found["rules"][0]["rule_id"])
    assert said(capsys, "remove", "ops") == "Channel ops is removed, and 2 rules with it.\n"


@pytest.mark.sql
def test_a_test_that_does_not_arrive_says_why_and_is_a_failure(
    receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver.answers = [(404, {})]
    said(capsys, "add", "--slack", f"{receiver.url}/hook")
    assert "it answered with 404" in said(capsys, "test", "127.0.0.1", code=1)


def test_what_does_not_go_together_is_said(receiver: Receiver, capsys: pytest.CaptureFixture[str]) -> None:
    assert "one --when" in said(capsys, "add", "--slack", receiver.url, "--threshold", "1", code=1)
    assert "--when" in said(capsys, "add", "--channel", "ops", code=1)
    assert "as 90s" in said(capsys, "add", "--slack", receiver.url, "--for", "soon", code=1)
    assert "no mail server" in said(capsys, "add", "--email", "ada@example.org", code=1)
    assert "there is no channel or rule 'x'" in said(capsys, "remove", "x", code=1)
    assert "no public address" in said(capsys, "add", "--webhook", "https://10.0.0.1/", code=1)
