"""A range of a lane in buckets, compared with the same figures added up one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from itertools import pairwise

import numpy as np
import pytest

from tests.app.made_windows import STARTED_AT, made_stream
from tests.app.store.posting import KEY, post, post_split, samples
from underfed_server.measurements import COMPUTE, COPY, STALL, STALL_FRACTION, Column, HostRows
from underfed_server.store.columns.histograms import BINS, BINS_PER_OCTAVE
from underfed_server.store.columns.ladder import Rollup
from underfed_server.store.columns.lanes import HOST
from underfed_server.store.columns.records import nodes_from_bytes
from underfed_server.store.reading import series, tracks
from underfed_server.store.reading.series import read_series, read_sums
from underfed_server.store.store import Store
from underfed_server.store.writing.compact import compact

STARTED = datetime.fromisoformat(STARTED_AT.replace("Z", "+00:00")).astimezone(timezone.utc)
WINDOWS, STEPS = 400, 20
PERCENTILES = (50, 95, 99)
ROWS = WINDOWS * STEPS
LAYOUTS = {
    "all hot": (),
    "one chunk": (400,),
    "small chunks": tuple(range(3, 391, 3)),
    "large chunks": (100, 210, 330, 395),
}


@pytest.fixture(scope="module", params=LAYOUTS)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The same steps, lying differently in chunks and hot windows."""
    store = Store(f"sqlite:///{tmp_path_factory.mktemp('series')}/underfed.db")
    post_split(store, list(made_stream(WINDOWS, seed=11)), LAYOUTS[request.param])
    yield store
    store.close()


def read(store: Store, names: list[str], buckets: int, low: int = 0, high: int | None = None) -> Rollup:
    with store.reading() as reader:
        rollup = read_series(reader, "run-1", 0, "steps:train", names=names, buckets=buckets, low=low, high=high)
    assert rollup is not None
    return rollup


@pytest.fixture(scope="module")
def figures(recorded: Store) -> dict[str, Column]:
    """Of every step."""
    steps = recorded.steps("run-1", 0, "train")
    # As the windows are made: the steps that were not timed idle as those that were.
    stall = np.where(steps.queue_depth >= 1, steps.data_wait_us / 2, steps.data_wait_us)
    return {
        "step_us": steps.step_us,
        "queue_depth": steps.queue_depth,
        "gpu_idle_us": steps.gpu_idle_us,
        "sampler_us": steps.sampler_us,
        COMPUTE: steps.step_us - steps.data_wait_us,
        STALL: stall,
        STALL_FRACTION: stall / steps.step_us,
    }


@pytest.mark.parametrize(
    "buckets", [1, 7, 1_200, 10_000, *(pytest.param(buckets, marks=pytest.mark.soak) for buckets in (2, 100))]
)
@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0, None),
        (0, 1),
        (100, 7_900),
        (7_990, None),
        *(pytest.param(*each, marks=pytest.mark.soak) for each in ((13, 14), (4_000, None))),
    ],
)
def test_every_bucket_is_what_its_steps_add_up_to(
    recorded: Store, figures: dict[str, Column], buckets: int, low: int, high: int | None
) -> None:
    rollup = read(recorded, list(figures), buckets, low, high)
    end = ROWS if high is None else high
    assert len(rollup) <= buckets
    assert rollup.first_index[0] == low
    assert rollup.rows.sum() == end - low
    first = rollup.first_index.astype(int) - low
    for name, column in figures.items():
        part = column[low:end]
        known = np.isfinite(part)
        count = np.add.reduceat(known, first, dtype=int)
        stat = rollup.stats.get(name)
        if stat is None:
            assert not count.any(), name
            continue
        assert stat.count.tolist() == count.tolist(), name
        some = count > 0
        for found, added_up, instead in (
            (stat.sum, np.add, 0.0),
            (stat.min, np.minimum, np.inf),
            (stat.max, np.maximum, -np.inf),
        ):
            expected = added_up.reduceat(np.where(known, part, instead), first)
            np.testing.assert_allclose(found[some], expected[some], rtol=1e-6, atol=1e-12, err_msg=name)


def test_all_of_it_is_what_one_bucket_is(recorded: Store) -> None:
    names = [STALL, COPY, "step_us"]
    with recorded.reading() as reader:
        found = read_sums(reader, "run-1", 0, "steps:train", names)
    one = read(recorded, names, 1)
    assert found == pytest.approx({name: float(stat.sum[0]) for name, stat in one.stats.items()})


def test_buckets_begin_when_their_first_step_did(recorded: Store) -> None:
    starts = recorded.steps("run-1", 0, "train").start_us
    rollup = read(recorded, ["step_us"], 50)
    assert rollup.first_us.tolist() == starts[rollup.first_index.astype(int)].tolist()


def test_as_many_buckets_are_given_as_half_of_what_there_is_room_for(recorded: Store) -> None:
    for buckets in (10, 240, 1_000):
        assert len(read(recorded, ["step_us"], buckets)) >= buckets * 0.4


def test_enough_room_gives_every_step_its_own_bucket(recorded: Store) -> None:
    rollup = read(recorded, ["step_us"], ROWS)
    assert rollup.stats["step_us"].sum.tolist() == recorded.steps("run-1", 0, "train").step_us.tolist()


def test_load_times_are_counted_in_bins_however_they_are_rolled_up(recorded: Store) -> None:
    load_us = recorded.batches("run-1", 0, "train").load_us
    with recorded.reading() as reader:
        rollup = read_series(reader, "run-1", 0, "batches:train", names=["load_us"], buckets=30, binned=["load_us"])
    assert rollup is not None
    edges = [0.0, *(2.0 ** (np.arange(BINS) / BINS_PER_OCTAVE))]
    expected, _ = np.histogram(load_us, edges)
    assert rollup.bins["load_us"].sum(axis=0).tolist() == expected.tolist()
    assert rollup.bins["load_us"].sum(axis=1).tolist() == rollup.stats["load_us"].count.tolist()


def test_samples_between_two_instants_are_those_taken_then(recorded: Store) -> None:
    host = samples(recorded, HostRows, HOST)
    for from_us, to_us in ((0.0, 1e12), (host.at_us[100], host.at_us[101]), (host.at_us[37] + 1, host.at_us[351])):
        with recorded.reading() as reader:
            rollup = read_series(
                reader, "run-1", 0, "host", names=["busy_cores"], buckets=20, from_us=from_us, to_us=to_us
            )
        inside = host.busy_cores[(host.at_us >= from_us) & (host.at_us < to_us)]
        assert rollup is not None
        assert rollup.stats["busy_cores"].count.sum() == len(inside)
        assert rollup.stats["busy_cores"].sum.sum() == pytest.approx(inside.sum())
        assert rollup.stats["busy_cores"].max.max() == inside.max()


def test_where_nothing_was_recorded_there_is_nothing(recorded: Store) -> None:
    with recorded.reading() as reader:
        for lane, low in (("steps:val", 0), ("steps:train", ROWS), ("gpu:3", 0)):
            assert read_series(reader, "run-1", 0, lane, names=["step_us"], buckets=9, low=low) is None
        assert read_series(reader, "run-1", 0, "host", names=["busy_cores"], buckets=9, from_us=1e15) is None


def test_buckets_that_were_complete_stay_while_the_run_grows(store: Store) -> None:
    windows = list(made_stream(40, seed=2))
    post(store, windows[:30])
    before = read(store, ["step_us"], 20)
    post(store, windows[30:])
    after = read(store, ["step_us"], 20, high=600)
    assert after.first_index.tolist() == before.first_index.tolist()
    assert after.stats["step_us"].sum.tolist() == before.stats["step_us"].sum.tolist()


def test_a_restarted_rank_goes_on_counting_on_one_clock(store: Store) -> None:
    post(store, made_stream(5, seed=1))
    post(store, made_stream(5, seed=2, incarnation=2, started_at="2026-11-20T11:00:00Z"))
    steps = store.steps("run-1", 0, "train")
    assert steps.step_index.tolist() == list(range(200))
    assert steps.start_us[100] == 3_600_000_000
    rollup = read(store, ["step_us"], 200)
    assert rollup.first_index.tolist() == list(range(200))
    assert rollup.first_us.tolist() == steps.start_us.tolist()
    # Aligned to the count through both incarnations: the second begins in the middle of a bucket.
    assert read(store, ["step_us"], 4).first_index.tolist() == [0, 64, 128, 192]


@pytest.mark.parametrize("buckets", [1, 7, pytest.param(100, marks=pytest.mark.soak), 1_200])
def test_percentiles_are_those_of_the_steps_in_each_bucket(
    recorded: Store, figures: dict[str, Column], buckets: int
) -> None:
    with recorded.reading() as reader:
        rollup = read_series(
            reader, "run-1", 0, "steps:train",
            names=["step_us", "gpu_idle_us", COMPUTE, STALL], buckets=buckets, low=30, percentiles=PERCENTILES,
        )  # fmt: skip
    assert rollup is not None
    assert rollup.percentiles.keys() == {"step_us", "gpu_idle_us", COMPUTE}
    bounds = np.append(rollup.first_index, ROWS).astype(int)
    for name, found in rollup.percentiles.items():
        for bucket, (first, last) in enumerate(pairwise(bounds)):
            part = figures[name][first:last]
            true = np.percentile(part[np.isfinite(part)], PERCENTILES, method="inverted_cdf")
            assert found[:, bucket] == pytest.approx(true, rel=0.011)


def test_percentiles_are_exact_where_few_rows_are_read(recorded: Store) -> None:
    step_us = recorded.steps("run-1", 0, "train").step_us[1_000:1_500]
    with recorded.reading() as reader:
        rollup = read_series(
            reader, "run-1", 0, "steps:train",
            names=["step_us"], buckets=1, low=1_000, high=1_500, percentiles=PERCENTILES,
        )  # fmt: skip
    assert rollup is not None
    true = np.percentile(step_us, PERCENTILES, method="inverted_cdf")
    assert rollup.percentiles["step_us"][:, 0].tolist() == true.tolist()


def test_percentiles_of_a_long_run_are_read_from_histograms(recorded: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "MOST_CHUNKS_SORTED", 0)
    step_us = recorded.steps("run-1", 0, "train").step_us
    for buckets in (1, 20, 4_000):
        with recorded.reading() as reader:
            rollup = read_series(
                reader, "run-1", 0, "steps:train",
                names=["step_us"], buckets=buckets, percentiles=PERCENTILES,
            )  # fmt: skip
        assert rollup is not None
        for bucket, (first, last) in enumerate(pairwise(np.append(rollup.first_index, ROWS).astype(int))):
            true = np.percentile(step_us[first:last], PERCENTILES, method="inverted_cdf")
            assert rollup.percentiles["step_us"][:, bucket] == pytest.approx(true, rel=0.011)


def test_an_overview_reads_no_more_of_a_longer_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    read_bodies: list[int] = []

    def counted(lane: str, bodies: Sequence[bytes], names: Sequence[str]) -> Rollup:
        read_bodies.append(len(bodies))
        return nodes_from_bytes(lane, bodies, names)

    monkeypatch.setattr(tracks, "nodes_from_bytes", counted)
    windows = list(made_stream(256, seed=3, steps=2, batches=[]))
    counts = []
    for first, last in ((0, 64), (64, 256)):
        for stop in range(first, last, 4):
            post(store, windows[stop : stop + 4])
            store.write(lambda connection: compact(connection, KEY))
        read_bodies.clear()
        assert 4 <= len(read(store, ["step_us"], 10)) <= 10
        counts.append(sum(read_bodies))
    assert counts[1] <= 10, f"of 64 chunks {counts[1]}, of 16 {counts[0]}"
