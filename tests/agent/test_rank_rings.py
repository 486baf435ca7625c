"""The rings of a rank: found when made, drained soon when they fill fast, kept until their worker's end was
reported."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.fakes.service import wait_until
from underfed.collector.reading.rank_rings import FILLING, TRIES, RankRings
from underfed.collector.reading.resume import LoaderResume, Resume, WorkerResume, from_json
from underfed.collector.reading.steps import OpenEpoch
from underfed.collector.wire import Losses, as_json
from underfed.exchange import run_files
from underfed.exchange.ring import RingWriter
from underfed.exchange.run_files import RingName
from underfed.host.files import Changes, write_atomically

STEPS, WORKER = RingName(0), RingName(0, 3, 1)
CAPACITY = 64


def step_ring(directory: Path) -> RingWriter:
    return RingWriter(run_files.step_ring(directory, 0), CAPACITY)


def worker_ring(directory: Path) -> RingWriter:
    return RingWriter(run_files.batch_ring(run_files.batch_rings(directory, 0, 3), 1), CAPACITY)


def test_rings_are_found_when_they_are_made(tmp_path: Path) -> None:
    rings = RankRings(tmp_path, {})
    rings.mark()
    assert rings.worker_pids == {}
    ring = worker_ring(tmp_path)
    ring.write(1)
    rings.mark()
    assert rings.worker_pids == {WORKER: os.getpid()}
    (drained,) = rings.drain()
    assert (drained.ring, len(drained.records), drained.lost) == (WORKER, 1, 0)
    rings.close()


def test_a_ring_in_the_making_is_waited_for_but_not_for_ever(tmp_path: Path) -> None:
    rings = RankRings(tmp_path, {})
    path = run_files.step_ring(tmp_path, 0)
    path.touch()
    rings.mark()
    assert rings.loaders() == set()
    path.unlink()
    step_ring(tmp_path).write(1)
    rings.mark()
    assert len(rings.drain()[0].records) == 1
    other = run_files.step_ring(tmp_path, 1)
    other.write_text("no ring")
    for _ in range(TRIES):
        assert rings.failures == 0
        rings.mark()
    assert rings.failures == 1
    rings.mark()
    assert rings.failures == 1
    rings.close()


def test_each_drain_reports_what_was_lost_since_the_one_before(tmp_path: Path) -> None:
    rings = RankRings(tmp_path, {})
    ring = worker_ring(tmp_path)
    for written in (CAPACITY + 10, 1, CAPACITY + 10):
        for _ in range(written):
            ring.write(1)
        rings.mark()
        (drained,) = rings.drain()
        assert len(drained.records) + drained.lost == written
    rings.close()


def test_a_ring_that_fills_fast_is_reported(tmp_path: Path) -> None:
    rings = RankRings(tmp_path, {})
    ring = step_ring(tmp_path)
    for _ in range(CAPACITY // FILLING):
        ring.write(1)
    assert not rings.mark()
    ring.write(1)
    assert rings.mark()
    assert len(rings.drain()[0].records) == CAPACITY // FILLING + 1
    assert not rings.mark()
    rings.close()


def test_a_workers_ring_goes_when_its_worker_is_over_and_it_is_drained(tmp_path: Path) -> None:
    rings = RankRings(tmp_path, {})
    ring = worker_ring(tmp_path)
    step_ring(tmp_path)
    rings.mark()
    assert rings.remove_abandoned(lambda _: False) == []
    ring.write(1)
    assert rings.remove_abandoned(lambda _: True) == [], "a record is unread"
    rings.drain()
    assert rings.remove_abandoned(lambda _: True) == [WORKER]
    assert [path.name for path in tmp_path.iterdir()] == ["loader-0.steps"]
    rings.close()


def test_a_directory_changes_with_what_is_in_it(tmp_path: Path) -> None:
    directory = Changes(tmp_path / "run")
    assert not directory.has_changed(), "it is not there"
    (tmp_path / "run").mkdir()
    assert directory.has_changed()
    wait_until(lambda: not directory.has_changed(), "it rests")
    (tmp_path / "run/a").touch()
    assert directory.has_changed()
    wait_until(lambda: not directory.has_changed(), "it rests")
    write_atomically(tmp_path / "run/a", "replaced")
    assert directory.has_changed()


def test_a_clock_that_was_set_back_hides_no_change(tmp_path: Path) -> None:
    directory = Changes(tmp_path)
    later_s = tmp_path.stat().st_mtime + 3600
    os.utime(tmp_path, (later_s, later_s))
    assert [directory.has_changed() for _ in range(3)] == [True] * 3


@pytest.mark.parametrize("epoch_index", [0, 7])
def test_what_the_next_collector_must_know_survives_the_disk(epoch_index: int) -> None:
    epoch = OpenEpoch(epoch_index, 10, 5, steps=2)
    loader = LoaderResume(6, [epoch], [(0, 0, epoch_index)], (1, 32))
    resume = Resume(
        next_index=3,
        kept_index=2,
        end_us=99,
        positions={"loader-0.steps": 12},
        loaders={0: loader},
        workers=[WorkerResume(0, 0, 1, 20, epoch_index)],
        losses=Losses(dropped_steps=1),
    )
    assert from_json(json.loads(json.dumps(as_json(resume)))) == resume
