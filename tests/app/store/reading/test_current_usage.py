"""What a rank uses now, by its newest windows: as they come, and as the database has them after a restart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, update

from tests.app.conftest import on_sqlite_alone
from tests.app.made_hosts import made_samples
from tests.app.store.clock import WallClock
from tests.app.store.posting import post
from underfed_server.errors import MalformedError
from underfed_server.store.databases import tables
from underfed_server.store.reading import current_usage
from underfed_server.store.reading.current_usage import RankNow
from underfed_server.store.store import Store


def usage(store: Store, run_id: str = "a") -> dict[int, RankNow]:
    with store.reading() as reader:
        return {rank: each.now for (_, rank), each in store.newest(reader.connection, [run_id]).items()}


def cores(store: Store) -> dict[int, float | None]:
    return {rank: each.own_cores for rank, each in usage(store).items()}


def of_incarnation(number: int, windows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [window | {"incarnation": number} for window in windows]


def test_what_comes_after_it_was_asked_for_counts(store: Store, clock: WallClock) -> None:
    early, late = [*made_samples("a", seconds=5, cores=1.0)], [*made_samples("a", seconds=10, cores=3.0)][5:]
    post(store, early)
    assert cores(store) == {0: 1.0}
    post(store, late)
    post(store, made_samples("a", rank=1, cores=0.5, samples_host=False))
    clock.advance(seconds=2.5)
    assert cores(store) == {0: 3.0, 1: 0.5}


def test_after_a_restart_it_is_known_from_before(tmp_path: Path, clock: WallClock) -> None:
    windows = [*made_samples("a", seconds=10, cores=2.0)]
    seen = []
    for part in (windows[:8], windows[8:]):
        store = Store(f"sqlite:///{tmp_path}/underfed.db", now=clock)
        post(store, part)
        seen.append(usage(store)[0])
        store.close()
    whole = Store(f"sqlite:///{tmp_path}/whole.db", now=clock)
    post(whole, windows)
    assert seen[1] == usage(whole)[0]
    assert [each.own_cores for each in seen] == [2.0, 2.0]
    whole.close()


@on_sqlite_alone
def test_what_was_read_ahead_is_not_read_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    post(store, made_samples("a", cores=1.0))
    store.read_ahead()
    monkeypatch.setattr(current_usage, "_windows", None)
    assert cores(store) == {0: 1.0}


@on_sqlite_alone
def test_a_window_that_cannot_be_read_stops_nobody_who_reads_ahead(store: Store) -> None:
    post(store, made_samples("a", cores=1.0))
    store.write(lambda connection: connection.execute(update(tables.hot).values(body=b"damaged")))
    store.read_ahead()
    with pytest.raises(MalformedError):
        cores(store)


@pytest.mark.sql
@pytest.mark.parametrize("began_at", ["10:00:10", "09:59:58"], ids=["later", "its clock was set back"])
def test_a_window_of_an_incarnation_before_says_nothing_of_now(store: Store, clock: WallClock, began_at: str) -> None:
    *before, left = made_samples("a", cores=1.0)
    again = of_incarnation(2, made_samples("a", cores=4.0, started_at=f"2026-11-20T{began_at}Z"))
    post(store, [*before, *again, left])
    clock.advance(seconds=2.5)
    assert cores(store) == {0: 4.0}


def test_a_rank_that_has_ended_uses_nothing(store: Store, clock: WallClock) -> None:
    *before, last = made_samples("a", rank=1, cores=1.0)
    post(store, [*made_samples("a", cores=2.0), *before])
    assert cores(store) == {0: 2.0, 1: 1.0}
    post(store, [last | {"end": {"status": "finished"}}])
    clock.advance(seconds=15.0)
    post(store, [*made_samples("a", seconds=21, cores=2.0)][20:])
    assert cores(store) == {0: 2.0}


@on_sqlite_alone
def test_what_comes_late_of_an_incarnation_before_one_that_has_ended_says_nothing_of_now(
    store: Store, clock: WallClock
) -> None:
    *before, left = made_samples("a", cores=1.0)
    *again, last = of_incarnation(2, made_samples("a", cores=4.0, started_at="2026-11-20T10:00:10Z"))
    post(store, [*before, *again, last | {"end": {"status": "finished"}}])
    assert cores(store) == {}
    clock.advance(seconds=20.0)
    post(store, [left])
    assert cores(store) == {}


@on_sqlite_alone
def test_an_end_that_comes_while_the_database_is_read_is_not_undone(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    *before, last = made_samples("a", cores=1.0)
    post(store, before)
    read = current_usage._read

    def read_then_end(*asked: Any) -> Any:
        found = read(*asked)
        post(store, [last | {"end": {"status": "finished"}}])
        return found

    monkeypatch.setattr(current_usage, "_read", read_then_end)
    assert cores(store) == {}


@on_sqlite_alone
def test_the_database_is_read_once_for_each_run_however_many_there_are(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current_usage, "MOST_KEPT", 2)
    runs = [f"run-{number}" for number in range(5)]
    for run_id in runs:
        post(store, made_samples(run_id, seconds=4))
    asked: list[str] = []
    read = current_usage._read

    def noted(connection: Connection, run_ids: Sequence[str]) -> Any:
        asked.extend(run_ids)
        return read(connection, run_ids)

    monkeypatch.setattr(current_usage, "_read", noted)
    for _ in range(3):
        with store.reading() as reader:
            assert len(store.newest(reader.connection, runs)) == len(runs)
    assert sorted(asked) == runs


@on_sqlite_alone
def test_of_a_rank_that_is_silent_it_is_not_known_any_more(store: Store, clock: WallClock) -> None:
    post(store, made_samples("a", cores=2.0))
    clock.advance(seconds=14.0)
    assert cores(store) == {0: 2.0}
    clock.advance(seconds=1.0)
    assert cores(store) == {}
