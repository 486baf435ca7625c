"""How much one token or address may send, and how slowly wrong tokens may be tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.app.api.visitors import ORIGIN, ROOT, bearer, make_token, visitor
from tests.app.made_windows import made_window, posted
from tests.app.serving import settings_for
from tests.app.store.clock import MonotonicClock
from underfed_server.api.admission.rate_limits import BURST_S, MOST_KEYS, Rate, RateLimits, key_of
from underfed_server.errors import TooManyRequestsError
from underfed_server.main import Application, create_app

JSON = {"Content-Type": "application/json"}


def limited(
    directory: Path,
    clock: MonotonicClock,
    *,
    token: str | None = ROOT,
    requests_per_s: float = 4.0,
    bytes_per_s: float = 1e9,
) -> Application:
    settings = settings_for(directory, token=token)
    return create_app(replace(settings, requests_per_s=requests_per_s, bytes_per_s=bytes_per_s), clock=clock)


@pytest.fixture
def clock() -> MonotonicClock:
    return MonotonicClock()


AT_ONCE = int(4 * BURST_S) + 1
"""Requests of a token or address that has rested, before the first is refused."""


@pytest.fixture
def slow(tmp_path: Path, clock: MonotonicClock) -> Iterator[Application]:
    """Four requests a second."""
    opened = limited(tmp_path, clock)
    yield opened
    opened.close()


def test_after_a_rest_several_seconds_worth_go_at_once_and_then_the_rate() -> None:
    clock = MonotonicClock()
    rate = Rate(8.0, clock=clock)
    for _ in range(int(8 * BURST_S) + 1):
        rate.require("one", "too much")
        rate.take("one")
    with pytest.raises(TooManyRequestsError, match=r"too much; try again in 0\.1 s") as refused:
        rate.require("one", "too much")
    assert refused.value.headers == {"Retry-After": "1"}
    rate.require("another", "too much")
    clock.now += 0.2
    rate.require("one", "too much")


def test_a_long_rest_saves_up_no_more_than_a_short_one() -> None:
    clock = MonotonicClock()
    rate = Rate(8.0, clock=clock)
    rate.take("one")
    clock.now += 86_400.0
    for _ in range(int(8 * BURST_S) + 1):
        rate.require("one", "too much")
        rate.take("one")
    with pytest.raises(TooManyRequestsError):
        rate.require("one", "too much")


def test_a_request_that_is_refused_for_its_bytes_costs_nothing() -> None:
    clock = MonotonicClock()
    limits = RateLimits(1.0, 100.0, clock)
    limits.take("one", 10_000)
    for _ in range(100):
        with pytest.raises(TooManyRequestsError, match="more bytes"):
            limits.take("one", 1)
    clock.now += 100.0
    limits.take("one", 1)


def test_what_is_larger_than_the_rate_passes_once_and_is_waited_for_afterwards() -> None:
    clock = MonotonicClock()
    rate = Rate(100.0, clock=clock)
    rate.require("one", "x")
    rate.take("one", 1_000.0)
    with pytest.raises(TooManyRequestsError, match=r"6\.0 s"):
        rate.require("one", "x")
    clock.now += 6.0
    rate.require("one", "x")


def test_a_clock_that_stands_still_or_no_limit_refuses_nobody() -> None:
    limits = RateLimits(float("inf"), float("inf"), MonotonicClock())
    for _ in range(100_000):
        limits.take("one", 10**9)


def test_a_flood_of_addresses_takes_bounded_memory_and_forgets_the_resting_first() -> None:
    clock = MonotonicClock()
    rate = Rate(1.0, clock=clock)
    for number in range(MOST_KEYS):
        rate.take(f"resting {number}")
    clock.now += 60.0
    rate.take("busy", 100.0)
    for number in range(3 * MOST_KEYS):
        rate.take(f"flood {number}")
        if number == 0:
            with pytest.raises(TooManyRequestsError):
                rate.require("busy", "x")
    assert len(rate._paid_until) <= MOST_KEYS


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("10.0.0.1", "10.0.0.2", False),
        ("2001:db8:1:2::3", "2001:db8:1:2:ffff::4", True),
        ("2001:db8:1:2::3", "2001:db8:1:3::3", False),
        ("fe80::1%eth0", "fe80::1%eth1", True),
        ("no address", "no address", True),
    ],
)
def test_whoever_may_choose_among_addresses_is_one(one: str, other: str, is_same: bool) -> None:
    assert (key_of(one) == key_of(other)) is is_same


def test_one_token_that_sends_too_much_leaves_the_others_alone(slow: Application, clock: MonotonicClock) -> None:
    eager, calm = (make_token(slow, "view")["token"] for _ in range(2))
    answers = [visitor(slow, eager).get("/api/v1/runs") for _ in range(AT_ONCE + 1)]
    assert [answer.status_code for answer in answers] == [200] * AT_ONCE + [429]
    assert answers[-1].json()["error"]["code"] == "too_many_requests"
    assert answers[-1].headers["retry-after"] == "1"
    assert visitor(slow, calm).get("/api/v1/runs").status_code == 200
    clock.now += 1.0
    assert visitor(slow, eager).get("/api/v1/runs").status_code == 200


def test_agents_have_to_come_later(slow: Application) -> None:
    sender = visitor(slow, make_token(slow, "ingest")["token"])
    answers = [sender.post("/api/v1/ingest", content=posted(made_window(0)), headers=JSON) for _ in range(AT_ONCE + 1)]
    assert [answer.status_code for answer in answers] == [200] * AT_ONCE + [429]
    assert answers[-1].json()["error"]["code"] == "too_many_requests"


def test_bytes_count_also_where_no_header_states_them(tmp_path: Path, clock: MonotonicClock) -> None:
    opened = limited(tmp_path, clock, requests_per_s=1e6, bytes_per_s=100_000.0)
    sender = visitor(opened, ROOT)
    body = posted(made_window(0, note="x" * 450_000))
    assert sender.post("/api/v1/ingest", content=iter([body]), headers=JSON).status_code == 200
    assert sender.post("/api/v1/ingest", content=iter([body]), headers=JSON).status_code == 429
    opened.close()


def test_where_nobody_has_a_token_addresses_are_distinguished(tmp_path: Path, clock: MonotonicClock) -> None:
    opened = limited(tmp_path, clock, token=None)
    one, other = (
        TestClient(opened, base_url="http://127.0.0.1:7077", client=(address, 1)) for address in ("127.0.0.1", "::1")
    )
    statuses = [one.get("/api/v1/service").status_code for _ in range(AT_ONCE + 1)]
    assert statuses == [200] * AT_ONCE + [429]
    assert other.get("/api/v1/service").status_code == 200
    opened.close()


def test_wrong_tokens_are_tried_ever_slower_and_a_right_one_waits_too(tmp_path: Path, clock: MonotonicClock) -> None:
    opened = limited(tmp_path, clock, requests_per_s=1e6)
    guesser, colleague = (TestClient(opened, base_url=ORIGIN, client=(f"10.0.0.{n}", 1)) for n in (1, 2))
    guesses = [guesser.post("/api/v1/session", json={"token": f"guess {n}"}).status_code for n in range(12)]
    assert guesses == [401] * 11 + [429]
    later = guesser.post("/api/v1/session", json={"token": ROOT})
    assert (later.status_code, "set-cookie" in later.headers) == (429, False)
    assert colleague.post("/api/v1/session", json={"token": ROOT}).status_code == 204
    assert guesser.get("/api/v1/runs", headers=bearer(ROOT)).status_code == 200, "agents behind it go on"
    clock.now += 5.0
    assert guesser.post("/api/v1/session", json={"token": ROOT}).status_code == 204
    opened.close()


@pytest.mark.parametrize("token", [ROOT, None])
@pytest.mark.parametrize("size", [10**9, 10**15])
def test_a_body_that_is_only_announced_is_not_paid_for(
    tmp_path: Path, clock: MonotonicClock, token: str | None, size: int
) -> None:
    """One request of nobody's would keep out all who are counted with it, for years."""
    opened = limited(tmp_path, clock, token=token, requests_per_s=1e9, bytes_per_s=2e6)
    client = TestClient(opened, base_url="http://127.0.0.1:7077")
    announced = {**JSON, "Content-Length": str(size)}
    for method, path in (("POST", "/api/v1/ingest"), ("GET", "/")):
        client.request(method, path, headers=announced)
    clock.now += BURST_S
    assert client.get("/healthz").status_code == 200
    opened.close()
