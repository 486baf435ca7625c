"""Of what is beyond its age or size single rows are deleted, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from functools import partial

import numpy as np
import pytest
from sqlalchemy import func, select, update

from tests.app.conftest import on_sqlite_alone
from tests.app.made_windows import RUN, STARTED_AT, made_stream
from tests.app.store.clock import WallClock
from tests.app.store.posting import KEY, Window, post, post_split, samples, settle
from underfed_server.measurements import HostRows
from underfed_server.store.columns.ladder import COUNT, GREATEST, SUM, Rollup
from underfed_server.store.columns.lanes import HOST
from underfed_server.store.databases import tables
from underfed_server.store.reading.series import read_series
from underfed_server.store.reading.tracks import RowsLeft
from underfed_server.store.store import Store
from underfed_server.store.team.retention_policy import FOR_EVER, RetentionPolicy
from underfed_server.store.upkeep import retention, surplus
from underfed_server.store.upkeep.retention import Retention, delete_rows
from underfed_server.store.upkeep.surplus import find_surplus
from underfed_server.store.writing.compact import compact
from underfed_server.store.writing.streams import StreamKey

STARTED = datetime.fromisoformat(STARTED_AT.replace("Z", "+00:00")).astimezone(timezone.utc)
CHUNKS, CHUNK_ROWS = 3, 800
ROWS = CHUNKS * CHUNK_ROWS
END = {"status": "finished"}
NAMES = ("step_us", "data_wait_us")


def record(store: Store, *, ended: bool = True) -> None:
    windows: list[Window] = list(made_stream(120, seed=4))
    if ended:
        windows[-1] |= {"end": END}
    post_split(store, windows, (40, 80, 120))
    settle(store)


def tidy(store: Store, policy: RetentionPolicy) -> None:
    Retention(store, policy).delete_surplus()


def overview(store: Store, buckets: int = 4, low: int = 0, high: int | None = None) -> Rollup:
    with store.reading() as reader:
        found = read_series(reader, "run-1", 0, "steps:train", names=NAMES, buckets=buckets, low=low, high=high)
    assert found is not None
    return found


def kept(store: Store) -> RowsLeft:
    with store.reading() as reader:
        return reader.kept("run-1", 0, "steps:train")


def older_than_row(store: Store, row: int) -> RetentionPolicy:
    """An age that only the chunks before row ``row`` are beyond."""
    at_us = int(store.steps("run-1", 0, "train").start_us[row])
    return RetentionPolicy(retain_us=(store.now() - STARTED) // timedelta(microseconds=1) - at_us - 1)


def figures(rollup: Rollup) -> list[list[float]]:
    return [rollup.first_index.tolist(), *(rollup.figures[part].tolist() for part in (COUNT, SUM, GREATEST))]


def test_rows_beyond_their_age_are_deleted_and_newer_ones_stay(store: Store) -> None:
    record(store)
    before = store.steps("run-1", 0, "train")
    tidy(store, older_than_row(store, CHUNK_ROWS))
    after = store.steps("run-1", 0, "train")
    assert after.step_us.tolist() == before.step_us[CHUNK_ROWS:].tolist()
    assert after.start_us.tolist() == before.start_us[CHUNK_ROWS:].tolist()
    assert kept(store) == RowsLeft(given_up_before=CHUNK_ROWS)
    assert store.rows_deleted_at("run-1") == store.now()


def test_what_is_within_its_age_is_left_alone(store: Store) -> None:
    record(store)
    tidy(store, RetentionPolicy(retain_us=24 * 3_600_000_000))
    assert len(store.steps("run-1", 0, "train")) == ROWS
    assert (kept(store), store.rows_deleted_at("run-1")) == (RowsLeft(), None)


def test_the_overview_stays_as_it_was(store: Store) -> None:
    record(store)
    before = overview(store)
    tidy(store, RetentionPolicy(retain_us=1))
    assert len(store.steps("run-1", 0, "train")) == 0
    assert figures(overview(store)) == figures(before)


def test_a_range_without_rows_is_shown_in_buckets_of_its_roll_ups(store: Store) -> None:
    record(store)
    step_us = store.steps("run-1", 0, "train").step_us
    tidy(store, older_than_row(store, 2 * CHUNK_ROWS))
    rollup = overview(store, buckets=4_000, low=700, high=1_700)
    # The bucket that row 700 lies in, the chunk's last, and then those of the next; from row 1,600 on each step.
    assert rollup.first_index.tolist() == [512, 768, 800, 1056, 1312, 1568, *range(1_600, 1_700)]
    assert rollup.figures[SUM, 0, 2] == step_us[800:1056].sum()
    assert rollup.figures[SUM, 0, 6:].tolist() == step_us[1_600:1_700].tolist()


def test_percentiles_of_deleted_rows_are_those_of_their_histograms(store: Store) -> None:
    record(store)
    step_us = store.steps("run-1", 0, "train").step_us
    tidy(store, RetentionPolicy(retain_us=1))
    with store.reading() as reader:
        rollup = read_series(
            reader, "run-1", 0, "steps:train", names=["step_us"], buckets=4_000, percentiles=(50, 95, 99)
        )
    assert rollup is not None
    true = np.percentile(step_us[: int(rollup.rows[0])], (50, 95, 99), method="inverted_cdf")
    assert rollup.percentiles["step_us"][:, 0] == pytest.approx(true, rel=0.011)


@pytest.mark.sql
def test_percentiles_of_deleted_rows_count_what_only_the_later_chunk_measured(store: Store) -> None:
    windows: list[Window] = list(made_stream(80, seed=4, end=None))
    for window in windows[:40]:
        window["steps"][0]["gpu_idle_us"] = None
    windows[-1] |= {"end": END}
    post_split(store, windows, (40, 80))
    settle(store)
    idle_us = store.steps("run-1", 0, "train").gpu_idle_us
    assert np.isnan(idle_us[:CHUNK_ROWS]).all() and np.isfinite(idle_us[CHUNK_ROWS:]).any()
    tidy(store, RetentionPolicy(retain_us=1))
    with store.reading() as reader:
        rollup = read_series(
            reader, "run-1", 0, "steps:train", names=["gpu_idle_us"], buckets=1, percentiles=(50, 95, 99)
        )
    assert rollup is not None
    true = np.percentile(idle_us[np.isfinite(idle_us)], (50, 95, 99), method="inverted_cdf")
    assert rollup.percentiles["gpu_idle_us"][:, 0] == pytest.approx(true, rel=0.011)


@pytest.mark.sql
def test_the_newest_rows_are_not_taken_from_both_sides_of_a_gap(store: Store) -> None:
    """What was recorded before a restart does not adjoin what is left of the time after it."""
    restarted = list(made_stream(80, seed=4, incarnation=2, end=None))
    post(store, list(made_stream(3, seed=1, end=None)))
    post(store, restarted[:40])
    store.write(lambda connection: compact(connection, StreamKey("run-1", 0, 2)))
    post(store, restarted[40:])
    store.write(lambda connection: compact(connection, StreamKey("run-1", 0, 2)))
    whole = store.steps("run-1", 0, "train")
    assert len(whole) == 60 + 2 * CHUNK_ROWS
    delete_first = update(tables.track).where(tables.track.c.incarnation == 2, tables.track.c.lane == "steps:train")
    store.write(lambda connection: connection.execute(delete_first.values(dropped_chunks=1)))
    newest = store.steps("run-1", 0, "train", last=2 * CHUNK_ROWS)
    assert newest.step_us.tolist() == whole.step_us[-CHUNK_ROWS:].tolist()


def test_samples_between_two_instants_are_still_found(store: Store) -> None:
    record(store)
    steps, host = store.steps("run-1", 0, "train"), samples(store, HostRows, HOST)
    tidy(store, RetentionPolicy(retain_us=1))
    at_us = [int(steps.start_us[row]) for row in (900, 1_500)]
    with store.reading() as reader:
        rollup = read_series(
            reader, "run-1", 0, "host", names=["busy_cores"], buckets=9, from_us=at_us[0], to_us=at_us[1]
        )
    assert rollup is not None
    inside = (host.at_us >= at_us[0]) & (host.at_us < at_us[1])
    assert rollup.figures[COUNT].sum() >= inside.sum()


@pytest.mark.sql
def test_of_a_project_that_is_too_large_the_oldest_rows_are_deleted_first(store: Store) -> None:
    record(store)
    later = [
        window | {"run_id": "run-2", "started_at": "2026-11-20T11:00:00Z"}
        for window in made_stream(40, seed=5, end=None)
    ]
    later[-1] |= {"end": END}
    post(store, later)
    settle(store)
    _, taken = store.retention_policy("vision")
    tidy(store, RetentionPolicy(max_bytes=taken.total_bytes - 1))
    with store.reading() as reader:
        dropped = select(tables.track.c.run_id, tables.track.c.dropped_chunks).where(tables.track.c.dropped_chunks > 0)
        assert reader.connection.execute(dropped).all() == [("run-1", 1)], "one chunk was enough"
    tidy(store, RetentionPolicy(max_bytes=1))
    _, left = store.retention_policy("vision")
    assert (left.row_bytes, left.ladder_bytes) == (0, taken.ladder_bytes)
    assert len(store.steps("run-1", 0, "train")) == len(store.steps("run-2", 0, "train")) == 0


@pytest.mark.sql
def test_bytes_are_counted_as_they_lie_there(store: Store) -> None:
    record(store)
    tidy(store, older_than_row(store, CHUNK_ROWS))
    _, taken = store.retention_policy("vision")
    sizes = []
    with store.reading() as reader:
        for column in (tables.chunk.c.body, tables.chunk.c.rollups, tables.rollup.c.body, tables.histogram.c.body):
            sizes.append(reader.connection.execute(select(func.sum(func.length(column)))).scalar_one())
    assert (taken.row_bytes, taken.ladder_bytes) == (sizes[0], sum(sizes[1:]))


def test_the_newest_rows_of_a_running_run_stay(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surplus, "NEWEST_ROWS", CHUNK_ROWS + 1)
    record(store, ended=False)
    tidy(store, RetentionPolicy(retain_us=1, max_bytes=1))
    assert len(store.steps("run-1", 0, "train")) == 2 * CHUNK_ROWS


def test_all_rows_of_a_run_that_fell_silent_are_deleted(store: Store, clock: WallClock) -> None:
    record(store, ended=False)
    clock.advance(hours=2)
    tidy(store, RetentionPolicy(retain_us=3_600_000_000))
    assert len(store.steps("run-1", 0, "train")) == 0


@pytest.mark.parametrize(
    ("own", "left"),
    [
        (RetentionPolicy(), 0),
        (RetentionPolicy(retain_us=FOR_EVER), ROWS),
        (RetentionPolicy(retain_us=24 * 3_600_000_000), ROWS),
    ],
)
def test_a_projects_own_limit_takes_precedence(store: Store, own: RetentionPolicy, left: int) -> None:
    record(store)
    store.set_retention_policy("vision", own)
    tidy(store, RetentionPolicy(retain_us=1))
    assert len(store.steps("run-1", 0, "train")) == left


def test_a_projects_own_limit_holds_where_the_service_has_none(store: Store) -> None:
    record(store)
    store.set_retention_policy("vision", RetentionPolicy(retain_us=1))
    store.set_retention_policy("speech", RetentionPolicy(retain_us=1))
    tidy(store, RetentionPolicy())
    assert len(store.steps("run-1", 0, "train")) == 0


def test_rows_that_another_service_deleted_are_not_counted_twice(store: Store) -> None:
    record(store)
    now = store.now()
    with store.reading() as reader:
        found = find_surplus(reader, "vision", RetentionPolicy(retain_us=1), now)
    steps = next(each for each in found if each.lane == "steps:train")
    assert store.write(lambda connection: delete_rows([steps], now, connection)) == CHUNKS
    _, taken = store.retention_policy("vision")
    assert store.write(lambda connection: delete_rows([steps], now, connection)) == 0
    assert store.retention_policy("vision")[1] == taken


def test_a_run_goes_on_after_its_rows_were_deleted(store: Store) -> None:
    windows = list(made_stream(60, seed=4))
    post_split(store, windows[:40], (40,))
    with store.reading() as reader:
        found = find_surplus(reader, "vision", RetentionPolicy(retain_us=1), store.now() + timedelta(hours=2))
    store.write(partial(delete_rows, found, store.now()))
    post(store, windows[40:])
    store.write(lambda connection: compact(connection, KEY))
    assert store.steps("run-1", 0, "train").step_index.tolist() == list(range(800, 1_200))
    assert overview(store, buckets=1).figures[COUNT].tolist() == [[1_200], [1_200]]


def sent(windows: Sequence[Window]) -> list[int]:
    return [value for window in windows for value in window["steps"][0]["step_us"]]


@on_sqlite_alone
def test_the_file_gets_smaller(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "SPARE_PAGES", 20)
    monkeypatch.setattr(retention, "PAGES_A_WRITE", 16)
    run = RUN | {"project": "large"}
    windows = list(made_stream(40, seed=6, steps=800))
    windows[0] |= {"run": run}
    windows[-1] |= {"end": END}
    post_split(store, windows, (10, 20, 30, 40))
    pages = "PRAGMA page_count"
    with store.reading() as reader:
        before = reader.connection.exec_driver_sql(pages).scalar_one()
    tidy(store, RetentionPolicy(retain_us=1))
    with store.reading() as reader:
        after = reader.connection.exec_driver_sql(pages).scalar_one()
        assert reader.connection.exec_driver_sql("PRAGMA freelist_count").scalar_one() <= 20
        assert reader.connection.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
    assert after < before / 2
    assert overview(store, buckets=1).figures[SUM, 0, 0] == sum(sent(windows))
