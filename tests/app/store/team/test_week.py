"""Two weeks in hours, by day and by cause."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.app.made_diagnosis import made_cause, made_diagnosis
from tests.app.made_windows import made_window
from tests.app.store.clock import WallClock
from tests.app.store.listing import listed
from tests.app.store.posting import post
from underfed_server.model import Week
from underfed_server.store.store import Store


def add(store: Store, clock: WallClock, run_id: str, *, days_ago: float, hours: float, lost: float, cause: str) -> None:
    """A run that lasted ``hours`` and ended so long before noon of the clock's day."""
    ended = clock.now - timedelta(days=days_ago)
    started = ended - timedelta(hours=hours)
    end = {"start_us": 0, "end_us": int(hours * 3.6e9), "end": {"status": "finished"}}
    post(store, [made_window(0, run_id=run_id, started_at=started.isoformat(), **end)])
    store.save_diagnosis(made_diagnosis(run_id, hours_lost=lost, hours_used=hours, causes=[made_cause(cause)]))


def week(store: Store) -> Week:
    return listed(store).week


def test_an_empty_store_has_had_an_empty_week(store: Store) -> None:
    empty = week(store)
    assert (empty.hours_used, empty.hours_lost, empty.by_cause, empty.on_gpu) == (0, 0, [], False)
    assert [day.day for day in empty.days][::13] == ["2026-11-07", "2026-11-20"]


def test_hours_fall_on_their_days_weeks_and_causes(store: Store, clock: WallClock) -> None:
    add(store, clock, "today", days_ago=0, hours=4, lost=1, cause="no_workers")
    add(store, clock, "sunday", days_ago=5, hours=2, lost=0.5, cause="storage_wait")
    add(store, clock, "week_before", days_ago=10, hours=8, lost=4, cause="no_workers")
    add(store, clock, "long_ago", days_ago=30, hours=8, lost=8, cause="no_workers")
    seen = week(store)
    assert (seen.hours_used, seen.hours_lost) == (6, 1.5)
    assert (seen.previous_hours_used, seen.previous_hours_lost) == (8, 4)
    assert [(each.cause, each.hours_lost) for each in seen.by_cause] == [("no_workers", 1), ("storage_wait", 0.5)]
    used = {day.day: day.hours_used for day in seen.days if day.hours_used}
    assert used == {"2026-11-10": 8, "2026-11-15": 2, "2026-11-20": 4}


def test_a_run_through_midnights_is_spread_over_its_days(store: Store, clock: WallClock) -> None:
    # From 12:00 two days ago until 12:00 today.
    add(store, clock, "long", days_ago=0, hours=48, lost=12, cause="no_workers")
    seen = week(store)
    assert [day.hours_used for day in seen.days[-3:]] == pytest.approx([12, 24, 12])
    assert [day.hours_lost for day in seen.days[-3:]] == pytest.approx([3, 6, 3])
    assert seen.hours_used == pytest.approx(48)


def test_a_run_from_before_the_two_weeks_counts_for_what_lies_in_them(store: Store, clock: WallClock) -> None:
    add(store, clock, "ancient", days_ago=0, hours=20 * 24, lost=0, cause="no_workers")
    seen = week(store)
    assert seen.hours_used + seen.previous_hours_used == pytest.approx(13.5 * 24)


def test_of_runs_with_gpus_and_without_it_is_said_how_many_hours_gpus_lost(store: Store, clock: WallClock) -> None:
    add(store, clock, "on_gpus", days_ago=0, hours=4, lost=3, cause="no_workers")
    add(store, clock, "on_cpus", days_ago=0, hours=4, lost=1, cause="no_workers")
    store.save_diagnosis(made_diagnosis("on_gpus", hours_lost=3.0, hours_used=4.0, gpu_hours_lost=3.0))
    seen = week(store)
    assert (seen.on_gpu, seen.hours_lost, seen.gpu_hours_lost) == (False, 4, 3)


def test_hours_are_gpu_hours_when_all_runs_were_on_gpus(store: Store, clock: WallClock) -> None:
    add(store, clock, "a", days_ago=0, hours=1, lost=0, cause="no_workers")
    assert not week(store).on_gpu
    store.save_diagnosis(made_diagnosis("a", gpu_hours_lost=0.0))
    assert week(store).on_gpu


@pytest.mark.sql
def test_it_is_that_of_the_runs_that_the_filter_finds(store: Store, clock: WallClock) -> None:
    add(store, clock, "one", days_ago=0, hours=4, lost=1, cause="no_workers")
    add(store, clock, "other", days_ago=1, hours=2, lost=0.5, cause="storage_wait")
    found = listed(store, q="slow storage").week
    assert (found.hours_used, found.hours_lost, [each.cause for each in found.by_cause]) == (2, 0.5, ["storage_wait"])
    assert listed(store, status="running").week.hours_used == 0
    assert listed(store, project="vision", q="cause:no_workers").week.hours_lost == 1
    store.edit_run("one", {"archived": True})
    assert (week(store).hours_used, listed(store, archived="true").week.hours_used) == (6, 4)
