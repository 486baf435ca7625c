"""``/alerts`` over HTTP: who may do what, what is refused, and that no answer, log or copy has a secret."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.app.alerts.conftest import HERE, KEY
from tests.app.alerts.receivers import Receiver
from tests.app.api.visitors import ROOT, make_token, visitor
from tests.app.conftest import Opening, on_postgresql_alone, on_sqlite_alone
from tests.app.serving import poll, settings_for
from underfed_server.main import Application, create_app
from underfed_server.settings import SECRET_KEY_NAME
from underfed_server.store.alerts.channels import MOST_CHANNELS
from underfed_server.store.alerts.rules import MOST_RULES
from underfed_server.store.databases.sqlite_backup import back_up
from underfed_server.store.runs.audit_log import AuditFilter

ALERTS = "/api/v1/alerts"
HOOK = {"name": "ops", "kind": "slack", "url": "https://hooks.example.org/services/T0/B0/the-secret-of-the-hook"}


@pytest.fixture(scope="module")
def opening(tmp_path_factory: pytest.TempPathFactory) -> Opening:
    directory = tmp_path_factory.mktemp("service")
    settings = replace(settings_for(directory, token=ROOT), alerts=replace(HERE, key_path=directory / SECRET_KEY_NAME))
    return lambda url: create_app(replace(settings, database_url=url))


@pytest.fixture
def admin(application: Application) -> TestClient:
    return visitor(application, ROOT)


def made(client: TestClient, **changes: Any) -> dict[str, Any]:
    answer = client.post(f"{ALERTS}/channels", json=HOOK | changes)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_channel_and_its_rule_are_added_tried_listed_and_removed(admin: TestClient, receiver: Receiver) -> None:
    channel = made(admin, kind="webhook", url=f"{receiver.url}/hook")
    rule = admin.post(f"{ALERTS}/rules", json={"condition": "data_bound", "channel_id": channel["channel_id"]}).json()
    assert (rule["threshold"], rule["for_us"], rule["condition_label"]) == (0.2, 600_000_000, "waits for data")
    queued = admin.post(f"{ALERTS}/channels/{channel['channel_id']}/test")
    assert (queued.status_code, queued.json()["state"]) == (202, "waiting")
    receiver.wait()[0].verified(channel["secret"])
    poll(lambda: admin.get(f"{ALERTS}/log/{queued.json()['alert_id']}").json()["state"] == "sent")
    listed = admin.get(ALERTS).json()
    assert listed["rules"] == [rule]
    assert listed["channels"] == [{name: value for name, value in channel.items() if name != "secret"}]
    assert listed["channels"][0]["target"] == receiver.url
    assert admin.get(f"{ALERTS}/log").json()["alerts"][0]["message"]["url"] == "https://underfed.example/alerts"
    assert admin.delete(f"{ALERTS}/rules/{rule['rule_id']}").status_code == 204
    assert admin.delete(f"{ALERTS}/channels/{channel['channel_id']}").status_code == 204
    assert admin.get(ALERTS).json()["channels"] == []
    gone = f"{ALERTS}/rules/{rule['rule_id']}", f"{ALERTS}/channels/{channel['channel_id']}"
    assert [admin.delete(path).status_code for path in gone] == [404, 404]


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("channels", HOOK | {"name": ""}, "name"),
    ("channels", HOOK | {"name": "a\nb"}, "name"),
    ("channels", HOOK | {"name": "x" * 101}, "name"),
    ("channels", HOOK | {"kind": "pager"}, "kind"),
    ("channels", HOOK | {"url": None}, "url"),
    ("channels", HOOK | {"url": "http://127.0.0.2/"}, "url"),
    ("channels", HOOK | {"url": "x" * 1_000_000}, "url"),
    ("channels", HOOK | {"to": ["ada@example.org"]}, "to"),
    ("channels", HOOK | {"extra": 1}, "extra"),
    ("rules", {"condition": "bored"}, "condition"),
    ("rules", {"condition": "data_bound", "threshold": 1.5}, "threshold"),
    ("rules", {"condition": "data_bound", "threshold": 0}, "threshold"),
    ("rules", {"condition": "data_bound", "threshold": "0.3x"}, "threshold"),
    ("rules", {"condition": "memory", "threshold": 25}, "threshold"),
    ("rules", {"condition": "straggler", "threshold": 1}, "threshold"),
    ("rules", {"condition": "hours_lost", "for_us": 1}, "for_us"),
    ("rules", {"condition": "data_bound", "for_us": -1}, "for_us"),
    ("rules", {"condition": "data_bound", "for_us": 10**18}, "for_us"),
    ("rules", {"condition": "data_bound", "cool_down_us": 1.5}, "cool_down_us"),
    ("rules", {"condition": "data_bound", "tells_recovery": "yes"}, "tells_recovery"),
    ("rules", {"condition": "data_bound", "user": "x" * 501}, "user"),
    ("rules", {"condition": "data_bound", "user": "a\0"}, "user"),
    ("rules", {"condition": "data_bound", "channel_id": "c\0"}, "channel_id"),
]


@pytest.mark.reads
@pytest.mark.parametrize(("what", "body", "field"), WRONG, ids=lambda each: str(each)[:40])
def test_what_cannot_be_meant_is_refused_by_its_field(
    admin: TestClient, what: str, body: dict[str, Any], field: str
) -> None:
    asked = body if what == "channels" else {"channel_id": "c0"} | body
    answer = admin.post(f"{ALERTS}/{what}", json=asked)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)
    assert len(answer.text) < 2_000


@on_sqlite_alone
@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_threshold_is_a_number(admin: TestClient, number: str) -> None:
    channel_id = made(admin)["channel_id"]
    body = f'{{"condition": "data_bound", "channel_id": "{channel_id}", "threshold": {number}}}'
    answer = admin.post(f"{ALERTS}/rules", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422


def test_who_views_reads_and_who_administers_a_project_changes_what_is_the_project_s(application: Application) -> None:
    root = visitor(application, ROOT)
    viewer = visitor(application, make_token(application, "view")["token"])
    own = visitor(application, make_token(application, "admin", project="vision")["token"])
    other = visitor(application, make_token(application, "admin", project="speech")["token"])
    of_all, of_vision = made(root)["channel_id"], made(own)["channel_id"]
    assert {each["project"] for each in viewer.get(ALERTS).json()["channels"]} == {None, "vision"}
    assert viewer.post(f"{ALERTS}/channels", json=HOOK).status_code == 403
    assert [each["channel_id"] for each in own.get(ALERTS).json()["channels"]] == [of_vision]
    assert own.post(f"{ALERTS}/channels", json=HOOK | {"name": "x", "project": "speech"}).status_code == 403

    def rule(client: TestClient, channel_id: str, **changes: Any) -> Any:
        asked = {"condition": "straggler", "channel_id": channel_id} | changes
        return client.post(f"{ALERTS}/rules", json=asked)

    assert rule(own, of_vision).json()["project"] == "vision"
    assert [rule(own, of_all).status_code, rule(other, of_vision).status_code] == [404, 404]
    assert rule(own, of_vision, project="speech").status_code == 403
    assert rule(root, of_vision).status_code == 409, "another project's runs are not reported to this channel"
    of_root = rule(root, of_all).json()["rule_id"]
    for path in (f"channels/{of_all}", f"rules/{of_root}"):
        assert own.delete(f"{ALERTS}/{path}").status_code == 404
    assert own.post(f"{ALERTS}/channels/{of_all}/test").status_code == 404
    assert viewer.post(f"{ALERTS}/channels/{of_all}/test").status_code == 403


def test_names_are_taken_once_and_there_are_only_so_many(
    application: Application, admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel_id = made(admin)["channel_id"]
    assert admin.post(f"{ALERTS}/channels", json=HOOK).status_code == 409
    monkeypatch.setattr("underfed_server.store.alerts.channels.MOST_CHANNELS", 1)
    monkeypatch.setattr("underfed_server.store.alerts.rules.MOST_RULES", 1)
    full = admin.post(f"{ALERTS}/channels", json=HOOK | {"name": "x"})
    assert "1 channels already" in full.json()["error"]["message"]
    rule = {"condition": "memory", "channel_id": channel_id}
    assert [admin.post(f"{ALERTS}/rules", json=rule).status_code for _ in range(2)] == [201, 409]
    assert (MOST_CHANNELS, MOST_RULES) == (100, 1_000)


@pytest.mark.sql
def test_each_change_is_in_the_audit_log_without_a_secret(application: Application, admin: TestClient) -> None:
    channel_id = made(admin)["channel_id"]
    asked = {"condition": "data_bound", "channel_id": channel_id, "threshold": 0.3, "user": "ada", "project": "vision"}
    rule_id = admin.post(f"{ALERTS}/rules", json=asked).json()["rule_id"]
    admin.delete(f"{ALERTS}/rules/{rule_id}")
    admin.delete(f"{ALERTS}/channels/{channel_id}")
    entries = application.parts.store.audit(AuditFilter()).entries[::-1]
    words = "data_bound from 0.3 for 600 s, of ada's runs"
    assert [(each.action, each.name, each.before, each.after) for each in entries] == [
        ("channel_created", "ops", None, "slack: https://hooks.example.org:443"),
        ("alert_rule_created", "ops", None, words),
        ("alert_rule_deleted", "ops", words, None),
        ("channel_deleted", "ops", "slack: https://hooks.example.org:443", None),
    ]


@on_sqlite_alone
def test_no_answer_and_no_copy_of_the_database_has_an_address_or_a_secret(
    application: Application, admin: TestClient, tmp_path: Path
) -> None:
    hook, signed = made(admin), made(admin, name="signed", kind="webhook", url="https://example.org/?key=hidden-key")
    admin.post(f"{ALERTS}/rules", json={"condition": "memory", "channel_id": hook["channel_id"]})
    hidden = ["the-secret-of-the-hook", "hidden-key", signed["secret"], signed["secret"].partition("_")[2], KEY]
    database = application.parts.store.database.path
    assert database is not None
    copy = tmp_path / "copy.db"
    back_up(database, copy, None)
    shown = [admin.get(path).text for path in (ALERTS, f"{ALERTS}/log", "/api/v1/audit", "/metrics")]
    for content in (*shown, copy.read_bytes().decode("latin-1"), json.dumps(hook)):
        assert [each for each in hidden if each in content] == []


def test_without_a_variable_the_key_is_a_file_that_only_this_user_reads(tmp_path: Path) -> None:
    path = tmp_path / SECRET_KEY_NAME
    settings = replace(settings_for(tmp_path, token=ROOT), alerts=replace(HERE, keys=(), key_path=path))
    application = create_app(settings)
    try:
        assert not path.exists()
        made(visitor(application, ROOT))
        assert path.stat().st_mode & 0o777 == 0o600
        path.chmod(0o644)
    finally:
        application.close()
    again = create_app(settings)
    try:
        refused = visitor(again, ROOT).post(f"{ALERTS}/channels", json=HOOK | {"name": "x"})
    finally:
        again.close()
    assert (refused.status_code, "others may know the key" in refused.text) == (409, True)


@on_postgresql_alone
def test_processes_that_share_a_database_need_a_key_that_they_share(tmp_path: Path, database_url: str) -> None:
    settings = replace(settings_for(tmp_path, token=ROOT), alerts=replace(HERE, keys=()), database_url=database_url)
    application = create_app(settings)
    try:
        refused = visitor(application, ROOT).post(f"{ALERTS}/channels", json=HOOK)
    finally:
        application.close()
    assert (refused.status_code, "UNDERFED_SECRET_KEY" in refused.text) == (409, True)
