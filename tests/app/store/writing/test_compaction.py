"""Rows are read as they were sent, from chunks and hot windows alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import func, select

from tests.app.conftest import on_postgresql_alone
from tests.app.databases import Databases
from tests.app.made_windows import made_stream, posted_window
from tests.app.store.posting import KEY, Window, post, post_split, samples, settle
from underfed_server.ingest.posted import Ack
from underfed_server.measurements import RECORDED, GpuRows, HostRows, ProcessRows, StepRows
from underfed_server.store.columns.lanes import HOST, PROCESS, gpu_lane, steps_lane
from underfed_server.store.databases import tables
from underfed_server.store.databases.locks import lock_runs
from underfed_server.store.reading.rows import read_rows
from underfed_server.store.store import Store
from underfed_server.store.writing import compact as compacting
from underfed_server.store.writing.compact import compact
from underfed_server.store.writing.streams import StreamKey

WINDOWS = list(made_stream(40, seed=5))
SPLITS: Sequence[tuple[int, ...]] = ((), (40,), (1,), (39,), (7, 20, 21), tuple(range(1, 41)), (10, 10, 25))


def sent(windows: Iterable[Window], part: str, column: str) -> NDArray[np.float64]:
    """A column as it stands in the windows, NaN for null and for what was left out."""
    values: list[float | None] = []
    for window in windows:
        for each in window[part] if isinstance(window[part], list) else [window[part]]:
            rows = len(each.get("load_us", each.get("step_us", each.get("at_us"))))
            values += each.get(column) or [None] * rows
    return np.array(values, dtype=np.float64)


def same(read: NDArray[np.float64], expected: NDArray[np.float64]) -> bool:
    return np.array_equal(read, expected, equal_nan=True)


@pytest.fixture(scope="module", params=SPLITS)
def split(
    request: pytest.FixtureRequest, databases: Databases, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """The same windows, compacted at different places."""
    store = Store(databases.new(tmp_path_factory.mktemp("split")))
    post_split(store, WINDOWS, request.param)
    yield store
    store.close()


def test_every_value_is_read_back_as_it_was_sent(split: Store) -> None:
    store = split
    steps, batches = store.steps("run-1", 0, "train"), store.batches("run-1", 0, "train")
    assert steps.step_index.tolist() == list(range(800))
    for name in RECORDED["steps"].keys() - {"epoch_index", "step_index", "batch_index", "start_us"}:
        assert same(getattr(steps, name), sent(WINDOWS, "steps", name)), name
    for name in RECORDED["batches"].keys() - {"epoch_index"}:
        assert same(getattr(batches, name), sent(WINDOWS, "batches", name)), name
    process, host = samples(store, ProcessRows, PROCESS), samples(store, HostRows, HOST)
    gpu = samples(store, GpuRows, gpu_lane(0))
    for name in RECORDED["process"]:
        assert same(getattr(process, name), sent(WINDOWS, "process", name)), name
    for name in RECORDED["host"]:
        assert same(getattr(host, name), sent(WINDOWS, "host", name)), name
    assert [each.worker for each in store.workers("run-1", 0, "train")] == [0, 1]
    for each in store.workers("run-1", 0, "train"):
        for name in RECORDED["worker"]:
            of_worker = [
                {"of": part} for window in WINDOWS for part in window["worker_samples"] if part["worker"] == each.worker
            ]
            assert same(getattr(each.samples, name), sent(of_worker, "of", name)), name
    for name in RECORDED["gpu"]:
        assert same(getattr(gpu, name), sent(WINDOWS, "gpus", name)), name


def test_the_newest_rows_are_the_end_of_all_rows(split: Store) -> None:
    store = split
    whole = store.steps("run-1", 0, "train")
    for last in (0, 1, 19, 20, 21, 300, 799, 800, 5_000):
        newest = store.steps("run-1", 0, "train", last)
        assert len(newest) == min(last, 800)
        for name in RECORDED["steps"]:
            assert same(getattr(newest, name), getattr(whole, name)[800 - min(last, 800) :]), (name, last)


def test_how_far_each_lane_reaches_is_known_wherever_its_rows_lie(split: Store) -> None:
    """Of samples, what is hot is counted by who reads it."""
    of_one = {"steps:train": 800, "batches:train": 800, PROCESS: 40, HOST: 40, "worker:0:train": 40, gpu_lane(0): 40}
    with split.reading() as reader:
        found = {lane: reader.tracks("run-1", 0, lane)[0].end_index for lane in of_one}
        assert found == of_one
    with split.reading() as reader:
        reader.read_whole("run-1")
        assert {lane: reader.tracks("run-1", 0, lane)[0].end_index for lane in of_one} == of_one


def test_who_wants_steps_alone_gets_all_of_them_and_decodes_no_more(
    split: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = split.steps("run-1", 0, "train")
    monkeypatch.setattr(split, "_tails", None)
    with split.reading(steps_alone=True) as reader:
        steps = read_rows(StepRows, reader, "run-1", 0, steps_lane("train"), None)
        assert all(lane.startswith("steps:") for lane in reader.tail(KEY).rows)
    for name in RECORDED["steps"]:
        assert same(getattr(steps, name), getattr(whole, name)), name


@pytest.mark.parametrize("is_compacted", [False, True])
def test_samples_are_numbered_through_all_incarnations(store: Store, *, is_compacted: bool) -> None:
    post(store, WINDOWS[:3])
    if is_compacted:
        store.write(lambda connection: compact(connection, KEY))
    post(store, WINDOWS[3:6])
    post(store, [window | {"incarnation": 2} for window in WINDOWS[:2]])
    with store.reading() as reader:
        first, second = reader.tracks("run-1", 0, HOST)
    assert (first.end_index, second.shift_index, second.end_index) == (6, 6, 2)


@pytest.mark.sql
def test_a_service_that_is_started_again_counts_on(databases: Databases, tmp_path: Path) -> None:
    url = databases.new(tmp_path)
    for windows in (WINDOWS[:10], WINDOWS[10:15], WINDOWS[15:]):
        with closing(Store(url)) as store:
            post(store, windows)
    with closing(Store(url)) as store:
        store.write(lambda connection: compact(connection, KEY))
        assert [(each.steps, each.step_us) for each in store.step_totals("run-1")] == [
            (800, int(sent(WINDOWS, "steps", "step_us").sum()))
        ]
        with store.reading() as reader:
            rows = reader.connection.execute(
                select(tables.track.c.lane, tables.track.c.rows, tables.track.c.chunk_rows)
            )
            assert all(every == in_chunks for _, every, in_chunks in rows)
            assert reader.tracks("run-1", 0, HOST)[0].end_index == 40


def test_what_was_read_before_does_not_come_twice_after_a_compaction(store: Store) -> None:
    for stop in range(0, 40, 4):
        post(store, WINDOWS[stop : stop + 2])
        assert len(store.steps("run-1", 0, "train")) == (stop + 2) * 20
        if stop % 12 == 8:
            store.write(lambda connection: compact(connection, KEY))
        post(store, WINDOWS[stop + 2 : stop + 4])
        assert same(store.steps("run-1", 0, "train").step_us, sent(WINDOWS[: stop + 4], "steps", "step_us"))


def test_the_start_of_each_step_is_exact_through_pauses_and_open_steps(store: Store) -> None:
    windows = list(made_stream(12, seed=8))
    windows[4]["steps"][0]["step_us"][-1] = None
    expected: list[float] = []
    for window in windows:
        steps = window["steps"][0]
        lengths = [value or 0 for value in steps["step_us"]]
        expected += [steps["start_us"] + sum(lengths[:index]) for index in range(len(lengths))]
    for stop in range(12):
        post(store, [windows[stop]])
        store.write(lambda connection: compact(connection, KEY))
    assert store.steps("run-1", 0, "train").start_us.tolist() == expected


@pytest.mark.sql
def test_compacting_empties_the_hot_windows_and_fills_chunks_and_roll_ups(store: Store) -> None:
    post_split(store, WINDOWS, (10, 20, 30, 40))
    with store.reading() as reader:
        counts = [
            reader.connection.execute(select(func.count()).select_from(table).where(table.c.run_id == "run-1")).scalar()
            for table in (tables.hot, tables.chunk, tables.rollup)
        ]
    lanes = len(("steps", "batches", "process", "host", "worker 0", "worker 1", "gpu"))
    assert counts == [0, 4 * lanes, 3 * lanes]  # 2 pairs and 1 pair of pairs


def test_a_full_stream_is_compacted_by_the_writer_itself(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacting, "DUE_ROWS", 100)
    post(store, WINDOWS)
    settle(store)
    with store.reading() as reader:
        hot = reader.connection.execute(select(func.count()).select_from(tables.hot)).scalar_one()
    assert hot < 40
    assert same(store.steps("run-1", 0, "train").step_us, sent(WINDOWS, "steps", "step_us"))


def test_where_there_are_many_streams_each_is_compacted_earlier() -> None:
    """What all of them have hot stays within what can be kept decoded."""
    queue = compacting.CompactionQueue()
    for rank in range(2_000):
        queue.note(StreamKey("run-1", rank, 1), 1_500, 1, has_ended=False)
    assert not queue.are_due
    for rank in range(2_000, 3_000):
        queue.note(StreamKey("run-1", rank, 1), 1_300, 1, has_ended=False)
    assert not queue.are_due
    queue.note(StreamKey("run-1", 0, 1), 1_500, 2, has_ended=False)
    assert queue.next_due(look_for_quiet=False) == StreamKey("run-1", 0, 1)
    assert not queue.are_due


def test_a_stream_that_ended_is_compacted(store: Store) -> None:
    post(store, [*WINDOWS[:39], WINDOWS[39] | {"end": {"status": "finished"}}])
    settle(store)
    with store.reading() as reader:
        assert reader.connection.execute(select(func.count()).select_from(tables.hot)).scalar_one() == 0


def test_many_streams_that_end_at_once_are_compacted_without_delay(store: Store) -> None:
    for rank in range(30):
        post(store, made_stream(1, rank=rank, end={"status": "finished"}))
    for _ in range(30):
        settle(store)
    with store.reading() as reader:
        assert reader.connection.execute(select(func.count()).select_from(tables.hot)).scalar_one() == 0


def test_a_service_that_starts_again_compacts_what_the_one_before_left(
    store: Store, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    post(store, WINDOWS)
    store.close()
    monkeypatch.setattr(compacting, "DUE_ROWS", 100)
    again = Store(database_url)
    try:
        settle(again)
        with again.reading() as reader:
            assert reader.connection.execute(select(func.count()).select_from(tables.hot)).scalar_one() == 0
        assert same(again.steps("run-1", 0, "train").step_us, sent(WINDOWS, "steps", "step_us"))
    finally:
        again.close()


def test_a_duplicate_of_a_compacted_window_is_still_known(store: Store) -> None:
    post_split(store, WINDOWS, (40,))
    answer = store.submit(posted_window(WINDOWS[3])).result(timeout=30)
    assert isinstance(answer, Ack) and answer.next_window_index == 40
    assert len(store.steps("run-1", 0, "train")) == 800


@on_postgresql_alone
def test_a_run_that_another_process_writes_to_is_passed_over_and_compacted_later(store: Store) -> None:
    post(store, WINDOWS)
    chunks = select(func.count()).select_from(tables.chunk)
    with store.database.writing.begin() as other:
        lock_runs(other, ["run-1"])
        store.write(lambda connection: compact(connection, KEY))
        assert store.write(lambda connection: connection.execute(chunks).scalar()) == 0
    store.write(lambda connection: compact(connection, KEY))
    assert store.write(lambda connection: connection.execute(chunks).scalar()) == 7
    assert store.steps("run-1", 0, "train").step_us.tolist() == sent(WINDOWS, "steps", "step_us").tolist()
