"""A clock that jumps by hours, forward or back: nothing is lost, order stays, and pages get their events."""

from __future__ import annotations

import time
from datetime import timedelta
from functools import partial

import pytest

from tests.app.conftest import on_postgresql_alone
from tests.app.made_windows import made_stream
from tests.app.store.clock import WallClock
from tests.app.store.posting import post
from underfed_server.api.event_streams import OVERLAP, Events, since_of
from underfed_server.store.databases.tables import MICROSECOND, UNIX_EPOCH
from underfed_server.store.store import Store


@pytest.mark.parametrize("hours", [5, -5])
def test_every_step_is_there_in_order_across_a_jump(store: Store, clock: WallClock, hours: int) -> None:
    windows = list(made_stream(260))
    post(store, windows[:130])
    clock.advance(hours=hours)
    post(store, windows[130:])
    # Sent again, as after a lost answer: still known.
    post(store, windows[120:140])
    assert store.steps("run-1", 0, "train").step_index.tolist() == list(range(260 * 20))
    sent = [value for window in windows for value in window["steps"][0]["step_us"]]
    assert store.steps("run-1", 0, "train").step_us.tolist() == sent
    assert store.run("run-1").status == "running"
    assert store.run("run-1").last_seen_at == clock()


def test_what_an_agents_clock_says_does_not_decide_whether_its_run_lives(store: Store, clock: WallClock) -> None:
    for run_id, started_at in (("old", "2001-01-01T00:00:00Z"), ("new", "2099-01-01T00:00:00Z")):
        post(store, made_stream(2, run_id=run_id, started_at=started_at))
        assert store.run(run_id).status == "running"
    clock.advance(seconds=31)
    assert {run: store.run(run).status for run in ("old", "new")} == {"old": "lost", "new": "lost"}


@on_postgresql_alone
@pytest.mark.parametrize("hours", [5, -5])
def test_a_run_is_not_left_unjudged_because_a_clock_jumped(store: Store, clock: WallClock, hours: int) -> None:
    post(store, made_stream(3))
    assert store.claim("run-1", "a process that died since")
    store.note_judged("run-1", [])
    clock.advance(hours=hours)
    post(store, list(made_stream(4))[3:])
    assert store.unjudged() == ["run-1"]
    assert store.claim("run-1", "its successor")
    assert not store.claim("run-1", "a third one")


@on_postgresql_alone
def test_a_lease_holds_against_clocks_that_differ_a_little(store: Store, clock: WallClock) -> None:
    post(store, made_stream(1))
    assert store.claim("run-1", "one")
    clock.advance(seconds=-5)
    assert store.claim("run-1", "one")
    assert not store.claim("run-1", "another")


def test_events_are_numbered_upwards_while_the_clock_goes_back(
    store: Store, clock: WallClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    post(store, made_stream(1))
    events, numbers = Events(), list[int]()
    now = time.time_ns()
    for at in (now, now - 3_600 * 10**9, now - 7_200 * 10**9, now + 10**9):
        monkeypatch.setattr(time, "time_ns", partial(int, at))
        events.publish(store.summary("run-1"), diagnosis_changed=False)
        numbers.append(events._last_number)
    assert numbers == sorted(set(numbers))


def test_a_page_that_comes_back_after_the_clock_was_set_back_misses_nothing(store: Store, clock: WallClock) -> None:
    last_event_id = str((clock() - UNIX_EPOCH) // MICROSECOND)
    assert since_of(last_event_id, clock()) == clock() - OVERLAP
    clock.advance(hours=-2)
    post(store, made_stream(1))
    since = since_of(last_event_id, clock())
    assert since is not None
    assert since < clock() - timedelta(hours=2)
    assert [run.run_id for run in store.changed_since(since)] == ["run-1"]
