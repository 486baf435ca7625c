"""Batches of a worker that take less than measuring them: what is recorded of each, and which are measured."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

import underfed
from tests.agent.test_recordings import column
from tests.fakes.service import Service, Window, wait_until
from underfed.exchange.ring_format import BATCH, BATCH_DETAIL, KIND_MASK, NOT_MEASURED, SHORT_BATCH
from underfed.trainer.loading import batch_timer
from underfed.trainer.loading.batch_timer import EARLY_BATCHES, LONG_NS, LONGEST_PAUSE_NS, MEASURING_SHARE, BatchTimer
from underfed.trainer.loading.collate import CollateTimer, running
from underfed.trainer.loading.probe import Probe

US = 1_000
OWN_NS = 30 * US
"""That measuring a batch takes."""

PAUSE_NS = MEASURING_SHARE * OWN_NS
SHORT_US = 50

Load = Callable[..., list[tuple[int, ...]]]


@pytest.fixture
def timer() -> BatchTimer:
    return BatchTimer(ring=None, collate=CollateTimer(Probe()), received=None, random=Random(1).random)  # type: ignore[arg-type]


@pytest.fixture
def load(timer: BatchTimer, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Loads a batch that begins so long after the one before and takes so long; what is recorded of it."""
    records: list[tuple[int, ...]] = []
    timer.ring = SimpleNamespace(write=lambda head, *values: records.append((head & KIND_MASK, *values)))  # type: ignore[assignment]
    indices, passed = count(), 0

    def load_one(load_ns: int = SHORT_US * US, after_ns: int = 0, own_ns: int = OWN_NS) -> list[tuple[int, ...]]:
        nonlocal passed
        taken_ns, is_measured = passed + after_ns, not timer.unmeasured
        started_ns = taken_ns + own_ns // 2 if is_measured else taken_ns
        ended_ns = started_ns + load_ns
        passed = ended_ns + own_ns - own_ns // 2 if is_measured else ended_ns
        readings = iter([taken_ns, started_ns, ended_ns, passed] if is_measured else [taken_ns, ended_ns])
        monkeypatch.setattr(batch_timer, "now_ns", lambda: next(readings))
        del records[:]
        timer.taken((next(indices), [7, 8, 9]))
        assert (timer.collate in running) == is_measured
        assert timer.loaded((0, torch.zeros(1)))
        assert timer.collate not in running
        assert records[0][2:4] == (started_ns, ended_ns)
        return list(records)

    return load_one


def kinds(records: list[tuple[int, ...]]) -> list[int]:
    return [each[0] for each in records]


MEASURED, SHORT = [BATCH, BATCH_DETAIL], [SHORT_BATCH]


def test_a_workers_first_batches_are_all_measured_and_then_as_many_as_a_part_of_its_time_allows(load: Load) -> None:
    assert [kinds(load()) for _ in range(EARLY_BATCHES)] == [MEASURED] * EARLY_BATCHES
    found = [kinds(load()) for _ in range(40_000)]
    assert found.count(SHORT) == len(found) - found.count(MEASURED)
    of_each = PAUSE_NS / (SHORT_US * US)
    assert found.count(MEASURED) == pytest.approx(len(found) / of_each, rel=0.15)


@pytest.mark.parametrize("every", [2, 7, 33])
def test_which_are_measured_does_not_depend_on_what_they_take(load: Load, every: int) -> None:
    """The first to begin after some time is more often the one after a longer one, and never the longer one itself."""
    longer_us = 1_900

    def is_measured(index: int) -> bool:
        batch, *detail = load(longer_us * US if index % every == 0 else SHORT_US * US)
        return bool(detail) and batch[6] != NOT_MEASURED

    found = [(index % every == 0, is_measured(index)) for index in range(40_000)][EARLY_BATCHES:]
    measured = [is_longer for is_longer, is_one in found if is_one]
    assert sum(measured) / len(measured) == pytest.approx(1 / every, rel=0.2)


def test_each_batch_that_takes_as_long_as_the_pause_is_measured(load: Load) -> None:
    for _ in range(EARLY_BATCHES + 20):
        assert kinds(load(PAUSE_NS)) == MEASURED


@pytest.mark.parametrize("load_ns", [PAUSE_NS, LONG_NS], ids=["the pause", "many times the mean"])
def test_a_long_one_among_short_ones_is_measured_but_for_joining_its_samples(
    load: Load, timer: BatchTimer, load_ns: int
) -> None:
    for _ in range(EARLY_BATCHES + 1):
        load()
    assert timer.unmeasured
    batch, detail = load(load_ns)
    assert (batch[0], batch[6], detail[5]) == (BATCH, NOT_MEASURED, NOT_MEASURED)
    assert batch[4] >= 0


def test_after_a_long_one_the_next_that_is_wholly_measured_comes_no_later(load: Load, timer: BatchTimer) -> None:
    for _ in range(EARLY_BATCHES):
        load()
    timer.unmeasured = 10_000
    assert [kinds(load(PAUSE_NS)) for _ in range(40)] == [MEASURED] * 40
    assert timer.unmeasured <= 1


def test_of_the_others_time_on_a_cpu_is_recorded_and_samples_where_a_task_names_them(
    load: Load, timer: BatchTimer
) -> None:
    for _ in range(EARLY_BATCHES):
        load()
    timer.unmeasured = 2
    ((_, _, started_ns, ended_ns, cpu_ns, samples),) = load()
    assert cpu_ns > 0
    assert samples == NOT_MEASURED
    timer.counts_samples = True
    ((*_, samples),) = load()
    assert samples == 3
    assert ended_ns > started_ns


def test_a_worker_that_waited_measures_more(load: Load) -> None:
    for _ in range(EARLY_BATCHES):
        load()
    found = [kinds(load(after_ns=PAUSE_NS)) for _ in range(200)]
    assert found[-100:] == [MEASURED] * 100


def test_measuring_that_was_interrupted_is_not_taken_for_dear(load: Load, timer: BatchTimer) -> None:
    for _ in range(EARLY_BATCHES):
        load(own_ns=50_000 * US)
    assert timer.pause_ns == LONGEST_PAUSE_NS


def test_the_programs_random_numbers_go_on_as_without_us(load: Load) -> None:
    random.seed(3)
    timer = BatchTimer(ring=None, collate=CollateTimer(Probe()), received=None)  # type: ignore[arg-type]
    assert 0 <= timer.random() < 1
    found = random.random()
    random.seed(3)
    assert found == random.random()


CONTENT = bytes(300_000)
BUSY, ASLEEP, READING = 1_000, 1_500, 2_000
LENGTH = 2_500


class Uneven(Dataset[Tensor]):
    """Short batches, and three long ones."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Tensor:
        if index == BUSY:
            until = time.thread_time() + 0.04
            while time.thread_time() < until:
                pass
        if index in {ASLEEP, READING}:
            time.sleep(0.04)
        if index == READING:
            self.path.read_bytes()
        return torch.zeros(1)


def batches_of(service: Service) -> dict[str, list[Any]]:
    names = ("batch_index", "load_us", "cpu_us", "runqueue_us", "blocked_us", "collate_us", "asked_bytes", "samples")
    parts: list[Window] = service.batches()
    whole = [{**dict.fromkeys(names, [None] * len(part["load_us"])), **part} for part in parts]
    return {name: column([{**each, name: each[name] or [None] * len(each["load_us"])} for each in whole], name)
            for name in names}  # fmt: skip


def test_of_short_batches_few_are_measured_and_of_long_ones_each(service: Service, tmp_path: Path) -> None:
    path = tmp_path / "content"
    path.write_bytes(CONTENT)
    for _ in underfed.watch(DataLoader(Uneven(path), num_workers=1), name="train"):
        pass
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    seen = batches_of(service)
    assert seen["batch_index"] == list(range(LENGTH))
    measured = [index for index, runqueue_us in enumerate(seen["runqueue_us"]) if runqueue_us is not None]
    assert measured[:EARLY_BATCHES] == list(range(EARLY_BATCHES))
    assert len(measured) < LENGTH / 2
    assert {BUSY, ASLEEP, READING} <= set(measured)
    for index in measured:
        parts = [seen[name][index] for name in ("cpu_us", "runqueue_us", "blocked_us")]
        assert sum(parts) == seen["load_us"][index]
    assert all(cpu_us <= load_us for cpu_us, load_us in zip(seen["cpu_us"], seen["load_us"], strict=True))
    assert set(seen["samples"]) == {1}
    assert seen["cpu_us"][BUSY] >= 39_000
    assert seen["blocked_us"][ASLEEP] >= 36_000
    assert len(CONTENT) <= seen["asked_bytes"][READING] < 2 * len(CONTENT)
    joined = [index for index, collate_us in enumerate(seen["collate_us"]) if collate_us is not None]
    assert set(joined) <= set(measured)
