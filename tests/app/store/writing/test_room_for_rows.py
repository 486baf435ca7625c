"""Which decoded rows stay in memory, of more than there is room for."""

from __future__ import annotations

from tests.app.store.clock import MonotonicClock
from underfed_server.store.writing.kept_rows import LATELY_S, UNUSED_S, KeptRows

ROOM = 3


def read_in_turn(kept: KeptRows[int, str], runs: int) -> list[int]:
    """Those that were found."""
    found = []
    for run in range(runs):
        if kept.get(run) is None:
            kept.put(run, f"rows of {run}", 1)
        else:
            found.append(run)
    return found


def test_rows_that_are_read_in_turn_are_found_as_far_as_there_is_room() -> None:
    kept = KeptRows[int, str](ROOM, MonotonicClock())
    assert [read_in_turn(kept, ROOM + 1) for _ in range(3)] == [[], [0, 1, 2], [0, 1, 2]]


def test_rows_that_nobody_has_used_lately_make_room() -> None:
    clock = MonotonicClock()
    kept = KeptRows[int, str](ROOM, clock)
    read_in_turn(kept, ROOM)
    clock.now += LATELY_S
    kept.get(2)
    kept.put(7, "rows of 7", 1)
    assert [key for key in (0, 1, 2, 7) if kept.get(key)] == [1, 2, 7]


def test_rows_that_nobody_asks_for_any_more_are_let_go_though_there_is_room() -> None:
    clock = MonotonicClock()
    kept = KeptRows[int, str](ROOM, clock)
    read_in_turn(kept, 2)
    clock.now += UNUSED_S
    kept.get(1)
    clock.now += 1
    kept.put(2, "rows of 2", 1)
    assert [key for key in range(ROOM) if kept.get(key)] == [1, 2]


def test_rows_that_have_grown_beyond_the_room_leave_it_to_the_others() -> None:
    kept = KeptRows[int, str](ROOM, MonotonicClock())
    read_in_turn(kept, ROOM)
    kept.put(1, "more rows of 1", 2)
    assert [key for key in range(ROOM) if kept.get(key)] == [0, 2]
    kept.put(3, "rows of 3", 1)
    assert kept.get(3) == "rows of 3"
