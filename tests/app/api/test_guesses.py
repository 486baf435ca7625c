"""Tokens are tried no faster through any request than at the sign-in, and agents with a right one go on beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.app.api.visitors import ORIGIN, ROOT, bearer
from tests.app.made_windows import made_window
from tests.app.serving import AS_OWNER, OWNER, settings_for
from tests.app.store.clock import MonotonicClock
from underfed_server.api.admission import guesses
from underfed_server.api.admission.access import COOKIE
from underfed_server.api.admission.guesses import Guesses
from underfed_server.api.admission.rate_limits import Rate
from underfed_server.errors import SettingsError
from underfed_server.main import Application, create_app
from underfed_server.settings import LEAST_TOKEN, read_settings

AT_ONCE = 11
"""Wrong ones before the first is not looked at."""

WAYS = {
    "list": ("GET", "/api/v1/runs", "Authorization", "Bearer {}"),
    "windows": ("POST", "/api/v1/ingest", "Authorization", "Bearer {}"),
    "metrics": ("GET", "/metrics", "Authorization", "bearer {}"),
    "the service": ("GET", "/api/v1/service", "Authorization", "Bearer {}"),
    "change": ("DELETE", "/api/v1/runs/x", "Authorization", "Bearer {}"),
    "events": ("GET", "/api/v1/events?topic=runs", "Authorization", "Bearer {}"),
    "the page": ("GET", "/", "Authorization", "Bearer {}"),
    "cookies": ("GET", "/api/v1/runs", "Cookie", COOKIE + "={}"),
}


@pytest.fixture
def clock() -> MonotonicClock:
    return MonotonicClock()


@pytest.fixture
def application(tmp_path: Path, clock: MonotonicClock) -> Iterator[Application]:
    settings = replace(settings_for(tmp_path, token=ROOT), requests_per_s=1e6)
    opened = create_app(settings, clock=clock)
    yield opened
    opened.close()


def client(application: Application, address: str) -> TestClient:
    return TestClient(application, base_url=ORIGIN, client=(address, 1))


@pytest.mark.parametrize("way", WAYS)
def test_wrong_secrets_are_tried_ever_slower_by_any_request(
    application: Application, clock: MonotonicClock, way: str
) -> None:
    method, path, header, text = WAYS[way]
    guesser = client(application, "10.0.0.1")
    statuses = [
        guesser.request(method, path, headers={header: text.format(f"guess-{number}")}).status_code
        for number in range(AT_ONCE + 5)
    ]
    assert 429 not in statuses[:AT_ONCE]
    assert statuses[AT_ONCE:] == [429] * 5
    clock.now += 5.0
    again = [guesser.request(method, path, headers={header: text.format(f"more-{number}")}) for number in range(2)]
    assert [answer.status_code == 429 for answer in again] == [False, True]


def guess(application: Application, address: str) -> None:
    """Until this address is slowed."""
    guesser = client(application, address)
    for number in range(AT_ONCE):
        guesser.get("/api/v1/runs", headers=bearer(f"{address}-guess-{number}"))


def test_a_chosen_token_that_was_never_used_from_there_waits_too(
    application: Application, clock: MonotonicClock
) -> None:
    agent, visitor, colleague = (client(application, f"10.0.0.{number}") for number in (1, 2, 3))
    assert agent.get("/api/v1/runs", headers=bearer(ROOT)).status_code == 200
    guess(application, "10.0.0.1")
    guess(application, "10.0.0.2")
    assert visitor.get("/api/v1/runs", headers=bearer(ROOT)).status_code == 429, "whether it is right is not said"
    assert agent.get("/api/v1/runs", headers=bearer(ROOT)).status_code == 200, "agents behind the address go on"
    assert colleague.get("/api/v1/runs", headers=bearer(ROOT)).status_code == 200
    clock.now += 5.0
    assert visitor.get("/api/v1/runs", headers=bearer(ROOT)).status_code == 200


def test_random_tokens_and_sessions_never_wait_for_those_who_guess(application: Application) -> None:
    elsewhere, newcomer, browser = (client(application, f"10.0.0.{number}") for number in (1, 2, 2))
    asked = {"name": "x", "scopes": ["view"]}
    made = elsewhere.post("/api/v1/tokens", headers=bearer(ROOT), json=asked).json()["token"]
    guess(application, "10.0.0.2")
    assert newcomer.get("/api/v1/runs", headers=bearer(made)).status_code == 200
    assert browser.post("/api/v1/session", json={"token": made}).status_code == 204
    assert browser.get("/api/v1/runs").status_code == 200
    for number in range(AT_ONCE):
        newcomer.post("/api/v1/session", json={"token": f"guess-{number}"})
    assert newcomer.post("/api/v1/session", json={"token": "one more"}).status_code == 429
    assert newcomer.post("/api/v1/session", json={"token": made}).status_code == 204
    revoked = elsewhere.delete(f"/api/v1/tokens/{token_id(elsewhere)}", headers=bearer(ROOT))
    assert revoked.status_code == 204
    assert newcomer.get("/api/v1/runs", headers=bearer(made)).status_code == 429, "it is one like any other"


def token_id(administrator: TestClient) -> str:
    """Of the token that was made."""
    listed = administrator.get("/api/v1/tokens", headers=bearer(ROOT)).json()
    return next(str(each["token_id"]) for each in listed["tokens"] if each["name"] == "x")


def test_nobody_on_the_machine_locks_the_owner_of_an_open_service_out(tmp_path: Path, clock: MonotonicClock) -> None:
    opened = create_app(replace(settings_for(tmp_path), requests_per_s=1e6), clock=clock)
    anybody, owner, browser = (
        TestClient(opened, base_url="http://127.0.0.1:7077", client=("127.0.0.1", 1)) for _ in range(3)
    )
    link = opened.parts.access.new_link()
    for number in range(3 * AT_ONCE):
        anybody.get("/api/v1/runs", headers=bearer(f"guess-{number}"))
        anybody.delete("/api/v1/runs/nobody", headers={"Cookie": f"{COOKIE}=guess-{number}"})
        last = anybody.post("/api/v1/session", json={"token": f"guess-{number}"})
    assert last.status_code == 429
    assert owner.delete("/api/v1/runs/nobody", headers=AS_OWNER).status_code == 404
    assert anybody.get("/api/v1/runs", headers={"Cookie": f"{COOKIE}=of-last-year"}).status_code == 200
    browser.cookies.set(COOKIE, "of-last-year")
    assert browser.post("/api/v1/session", json={"token": link}).status_code == 204
    browser.cookies.delete(COOKIE, domain="", path="/")
    assert browser.delete("/api/v1/runs/nobody").status_code == 404
    assert owner.post("/api/v1/session", json={"token": OWNER}).status_code == 204
    opened.close()


def test_an_agent_with_an_outdated_token_is_no_guesser(application: Application) -> None:
    outdated, new = (client(application, "10.0.0.1") for _ in range(2))
    for _ in range(5 * AT_ONCE):
        refused = outdated.post("/api/v1/ingest", headers=bearer("the-token-of-last-year"), json=made_window(0))
        assert refused.status_code == 401
    assert new.post("/api/v1/ingest", headers=bearer(ROOT), json=made_window(0)).status_code == 200


def test_a_right_cookie_beside_them_neither_hides_nor_opens_for_wrong_tokens(application: Application) -> None:
    browser = client(application, "10.0.0.1")
    assert browser.post("/api/v1/session", json={"token": ROOT}).status_code == 204
    statuses = [
        browser.get("/api/v1/runs", headers=bearer(f"guess-{number}")).status_code for number in range(AT_ONCE + 1)
    ]
    assert statuses == [401] * AT_ONCE + [429]


def test_what_is_remembered_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guesses, "MOST_REMEMBERED", 100)
    kept = Guesses(Rate(1e9))
    for number in range(1_000):
        for is_right in (True, False):
            kept.note(f"address {number}", b"%d" % number, is_right=is_right)
    assert (len(kept._wrong), len(kept._right)) == (100, 100)


@pytest.mark.parametrize("token", ["a", "x" * (LEAST_TOKEN - 1)])
def test_a_token_that_can_be_guessed_is_refused_at_the_start(token: str) -> None:
    with pytest.raises(SettingsError, match=rf"at least {LEAST_TOKEN} characters.*openssl rand"):
        read_settings([], {"UNDERFED_TOKEN": token})
    assert read_settings([], {"UNDERFED_TOKEN": "x" * LEAST_TOKEN}).token is not None


@pytest.mark.parametrize("forwarded", ["198.51.100.7:4711", "[2001:db8::7]:4711", '"198.51.100.7"', "unknown", ""])
def test_behind_a_proxy_a_client_is_one_whatever_port_it_comes_from(tmp_path: Path, forwarded: str) -> None:
    """One key for each real client, and the proxy's own where it names none."""
    settings = read_settings(["--proxy-address", "10.0.0.0/8"], {})
    opened = create_app(replace(settings_for(tmp_path, token=ROOT), proxy_addresses=settings.proxy_addresses))
    statuses = []
    for number in range(AT_ONCE + 1):
        named = forwarded.replace("4711", str(5_000 + number)).replace("unknown", f"unknown-{number}")
        headers = {"X-Forwarded-For": named, **bearer(f"guess-{number}")}
        statuses.append(client(opened, "10.2.3.4").get("/api/v1/runs", headers=headers).status_code)
    assert statuses[-1] == 429
    other = {"X-Forwarded-For": "198.51.100.8", **bearer("guess")}
    assert client(opened, "10.2.3.4").get("/api/v1/runs", headers=other).status_code == 401
    opened.close()
