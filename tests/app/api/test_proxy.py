"""A proxy in front of the service: its headers are trusted from the configured addresses only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.app.api.visitors import ROOT, bearer
from tests.app.made_windows import made_window
from tests.app.serving import settings_for
from underfed_server.api.admission.rate_limits import Rate, key_of
from underfed_server.errors import SettingsError
from underfed_server.main import Application, create_app
from underfed_server.settings import read_settings

ARGUMENTS = ["--proxy-address", "10.0.0.0/8,fd00::/8", "--proxy-user-header", "X-Forwarded-User"]
USER = {"X-Forwarded-User": "ada"}


@pytest.fixture
def application(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Application]:
    read = read_settings([*ARGUMENTS, *getattr(request, "param", [])], {})
    chosen = replace(settings_for(tmp_path, token=ROOT), proxy_addresses=read.proxy_addresses,
                     proxy_user_header=read.proxy_user_header, proxy_scopes=read.proxy_scopes)  # fmt: skip
    opened = create_app(chosen)
    yield opened
    opened.close()


def client(application: Application, address: str, **headers: str) -> TestClient:
    return TestClient(application, base_url="http://10.1.1.1:7077", client=(address, 1), headers=headers)


@pytest.mark.parametrize("proxy", ["10.2.3.4", "::ffff:10.2.3.4", "fd00::1"])
def test_whom_the_proxy_names_may_read_and_nothing_else(application: Application, proxy: str) -> None:
    asked = client(application, proxy, **USER)
    assert asked.get("/api/v1/runs").status_code == 200
    info = asked.get("/api/v1/service").json()
    assert (info["signed_in"], info["user"], info["scopes"]) == (True, "ada", ["view"])
    assert asked.delete("/api/v1/runs/x").status_code == 403
    assert asked.post("/api/v1/ingest", json=made_window(0)).status_code == 401


@pytest.mark.parametrize("address", ["192.0.2.1", "11.0.0.1", "::1", "testclient"])
def test_from_anywhere_else_the_header_is_not_read(application: Application, address: str) -> None:
    asked = client(application, address, **USER, **{"X-Forwarded-For": "10.0.0.1", "X-Forwarded-Proto": "https"})
    assert asked.get("/api/v1/runs").status_code == 401
    answer = asked.get("/api/v1/service")
    assert (answer.json()["signed_in"], answer.json()["url"]) == (False, "http://10.1.1.1:7077")
    assert "strict-transport-security" not in answer.headers


@pytest.mark.parametrize("name", ["", " ", "a\tb", "x" * 300])
def test_a_name_that_is_none_signs_nobody_in(application: Application, name: str) -> None:
    assert client(application, "10.2.3.4", **{"X-Forwarded-User": name}).get("/api/v1/runs").status_code == 401


@pytest.mark.parametrize("application", [["--proxy-scope", "admin"]], indirect=True)
def test_people_may_be_given_more(application: Application) -> None:
    assert client(application, "10.2.3.4", **USER).delete("/api/v1/runs/x").status_code == 404


@pytest.mark.parametrize("application", [["--proxy-scope", "admin"]], indirect=True)
def test_what_people_change_is_recorded_by_the_name_that_the_proxy_gives(application: Application) -> None:
    asked = client(application, "10.2.3.4", **USER)
    asked.post("/api/v1/views", json={"name": "slow", "query": ""})
    (entry,) = asked.get("/api/v1/audit").json()["entries"]
    assert (entry["by"], entry["action"], entry["token_id"]) == ("ada", "view_created", None)


def test_a_token_counts_more_than_the_name_beside_it(application: Application) -> None:
    asked = client(application, "10.2.3.4", **USER, **bearer(ROOT))
    info = asked.get("/api/v1/service").json()
    assert (info["user"], info["scopes"]) == (None, ["admin", "edit", "ingest", "view"])
    assert asked.post("/api/v1/ingest", json=made_window(0)).status_code == 200


def test_a_token_that_was_revoked_is_refused_whoever_is_signed_in(application: Application) -> None:
    owner = client(application, "10.2.3.4", **bearer(ROOT))
    made = owner.post("/api/v1/tokens", json={"name": "job", "scopes": ["view"]}).json()
    asked = client(application, "10.2.3.4", **USER, **bearer(made["token"]))
    assert asked.get("/api/v1/runs").status_code == 200
    owner.delete(f"/api/v1/tokens/{made['token_id']}")
    assert asked.get("/api/v1/runs").status_code == 401


def test_a_token_is_not_passed_over_for_the_session_beside_it(application: Application) -> None:
    asked = client(application, "10.2.3.4")
    asked.post("/api/v1/session", json={"token": ROOT})
    assert asked.get("/api/v1/runs").status_code == 200
    assert asked.get("/api/v1/runs", headers=bearer("not-known-here")).status_code == 401


def test_a_session_that_has_ended_leaves_the_proxys_word(application: Application) -> None:
    cookie = {"Cookie": "underfed_session=" + "0" * 43}
    assert client(application, "10.2.3.4", **USER, **cookie).get("/api/v1/runs").status_code == 200


def test_behind_tls_the_cookie_is_secure_and_browsers_have_to_stay(application: Application) -> None:
    behind = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "underfed.example"}
    asked = client(application, "10.2.3.4", **behind)
    signed_in = asked.post("/api/v1/session", json={"token": ROOT})
    assert "Secure" in signed_in.headers["set-cookie"]
    assert signed_in.headers["strict-transport-security"].startswith("max-age=")
    assert asked.get("/api/v1/service").json()["url"] == "https://underfed.example"
    forged = {"X-Forwarded-Host": "evil.example, underfed.example"}
    assert asked.get("/api/v1/service", headers=forged).json()["url"] == "https://underfed.example"
    plain = client(application, "10.2.3.4").post("/api/v1/session", json={"token": ROOT})
    assert "Secure" not in plain.headers["set-cookie"]


def test_the_page_of_the_proxys_name_may_write(application: Application) -> None:
    asked = client(application, "10.2.3.4", **bearer(ROOT), **{"X-Forwarded-Host": "underfed.example"})
    ours = asked.delete("/api/v1/runs/x", headers={"Origin": "https://underfed.example"})
    assert ours.status_code == 404
    assert asked.delete("/api/v1/runs/x", headers={"Origin": "https://evil.example"}).status_code == 403


def test_limits_are_those_of_whoever_stands_behind_the_proxy(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application.parts.limits, "sign_ins", Rate(0.2, 50.0, clock=lambda: 1_000.0))
    wrong = {"token": "wrong"}
    for forged in range(15):
        # What a client writes itself stands further left than what the proxy adds.
        said = {"X-Forwarded-For": f"203.0.113.{forged}, 198.51.100.7, 10.9.9.9"}
        last = client(application, "10.2.3.4", **said).post("/api/v1/session", json=wrong)
    assert last.status_code == 429
    with pytest.raises(Exception, match="wrong tokens"):
        application.parts.limits.sign_ins.require(key_of("198.51.100.7"), "wrong tokens")
    other = client(application, "10.2.3.4", **{"X-Forwarded-For": "198.51.100.8"})
    assert other.post("/api/v1/session", json=wrong).status_code == 401


def test_a_local_service_behind_a_proxy_is_not_open(tmp_path: Path) -> None:
    read = read_settings(["--proxy-address", "127.0.0.1"], {})
    opened = create_app(replace(settings_for(tmp_path), proxy_addresses=read.proxy_addresses))
    assert opened.new_token is not None
    assert client(opened, "127.0.0.1").get("/api/v1/runs").status_code == 401
    opened.close()


def test_variables_say_the_same_and_arguments_win() -> None:
    environ = {"UNDERFED_PROXY_ADDRESS": "10.0.0.0/8", "UNDERFED_PROXY_USER_HEADER": "X-User"}
    settings = read_settings([], environ)
    assert ([str(each) for each in settings.proxy_addresses], settings.proxy_user_header) == (["10.0.0.0/8"], "X-User")
    assert read_settings(["--proxy-user-header", "Remote-User"], environ).proxy_user_header == "Remote-User"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--proxy-user-header", "X-User"], "needs --proxy-address"),
        (["--proxy-address", "10.0.0.1/8"], "--proxy-address must be"),
        (["--proxy-address", "proxy.example"], "--proxy-address must be"),
        ([*ARGUMENTS[:2], "--proxy-user-header", "X User"], "--proxy-user-header must be"),
        ([*ARGUMENTS, "--proxy-scope", "ingest"], "--proxy-scope must be"),
        (["--requests-per-s", "-1"], "--requests-per-s must be"),
        (["--bytes-per-s", "nan"], "--bytes-per-s must be"),
    ],
)
def test_an_invalid_setting_is_refused_by_name(arguments: list[str], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        read_settings(arguments, {})
