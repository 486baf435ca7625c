"""Whatever a plain torch loader is made of: its batches are those without the agent, each step is recorded as it was.

All of them are drawn in one run, before the first test asks about one.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    WeightedRandomSampler,
    get_worker_info,
)
from torch.utils.data._utils import worker
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

import underfed
from tests.fakes.forkserver import ready_spawn
from tests.fakes.received import Place, agent_errors, names, received
from tests.fakes.recording import recording
from tests.fakes.service import Service, wait_until
from underfed.trainer import control

Loader = DataLoader[Any]
Drawn = list[list[Any]]
"""Batches, by pass."""

SAMPLES = 12
PIN_S = 0.003
LOADED = {"start_us", "load_us", "cpu_us", "runqueue_us", "blocked_us", "collate_us", "samples", "received_us"}


# Data sets, importable so that spawned workers find them


class Squares(Dataset[Tensor]):
    """Knows nothing of workers, but for what a ``worker_init_fn`` gives it."""

    def __init__(self, length: int = SAMPLES) -> None:
        self.length = length
        self.offset = 0.0

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Tensor:
        return torch.tensor([index * index + self.offset])


class SquaresAtOnce(Squares):
    def __getitems__(self, indices: Sequence[int]) -> list[Tensor]:
        return [self[index] for index in indices]


class Sharded(IterableDataset[Tensor]):
    """Each worker has its share, the first a smaller one."""

    def __iter__(self) -> Iterator[Tensor]:
        info = get_worker_info()
        start, step = (info.id, info.num_workers) if info is not None else (0, 1)
        stop = SAMPLES - 4 if step > 1 and start == 0 else SAMPLES
        return (torch.tensor([float(number)]) for number in range(start, stop, step))


class WithinAnother(Dataset[Tensor]):
    """Each sample is a sum over another loader's batches."""

    def __init__(self, inner: Loader) -> None:
        self.inner = inner

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Tensor:
        return torch.stack([batch.sum() for batch in self.inner]).sum() + index


class Forever:
    """A batch sampler that begins anew at its end."""

    def __init__(self, batches: BatchSampler) -> None:
        self.batches = batches

    def __iter__(self) -> Iterator[list[int]]:
        while True:
            yield from self.batches


class Infinite(DataLoader[Tensor]):
    """Keeps one eternal iterator from the start, so that its workers live on: as the YOLO code line has it."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        object.__setattr__(self, "batch_sampler", Forever(self.batch_sampler))  # type: ignore[arg-type]
        self.iterator = super().__iter__()

    def __len__(self) -> int:
        return len(self.batch_sampler.batches)  # type: ignore[union-attr]

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        for _ in range(len(self)):
            yield next(self.iterator)


class Doubling(DataLoader[Tensor]):
    """Changes what its iterator gives."""

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        for batch in super().__iter__():
            yield 2 * batch


class OwnLoop:
    """Runs torch's in a worker, from a module that was loaded anew: as litdata's profilers do."""

    def __call__(
        self,
        dataset_kind: Any,
        dataset: Any,
        index_queue: Any,
        data_queue: Any,
        done_event: Any,
        auto_collation: Any,
        collate_fn: Any,
        drop_last: Any,
        base_seed: Any,
        init_fn: Any,
        worker_id: Any,
        *more: Any,
    ) -> None:
        torchs: Any = importlib.reload(worker)
        arguments = (dataset_kind, dataset, index_queue, data_queue, done_event, auto_collation, collate_fn, drop_last)
        torchs._worker_loop(*arguments, base_seed, init_fn, worker_id, *more)


class OwnLoopIterator(_MultiProcessingDataLoaderIter):
    def __init__(self, loader: Loader) -> None:
        torchs = worker._worker_loop
        worker._worker_loop = OwnLoop()  # type: ignore[assignment]
        try:
            super().__init__(loader)
        finally:
            worker._worker_loop = torchs


class OwnIterator(DataLoader[Tensor]):
    """Whose workers run another loop than torch's."""

    def _get_iterator(self) -> Any:
        return OwnLoopIterator(self)


class Pinnable:
    """A batch of the user's own, which knows how to be pinned."""

    def __init__(self, samples: list[Tensor]) -> None:
        self.values = torch.stack(samples)

    def pin_memory(self) -> Pinnable:
        time.sleep(PIN_S)
        return self

    def tolist(self) -> list[Any]:
        return self.values.tolist()


def add_up(samples: list[Tensor]) -> Tensor:
    return torch.stack(samples).sum()


def shift(worker_id: int) -> None:
    info = get_worker_info()
    assert info is not None
    info.dataset.offset = 100.0  # type: ignore[attr-defined]


# Loaders


@dataclass(frozen=True, slots=True)
class Case:
    make: Callable[[], Loader]
    draw: Callable[[Loader], Drawn]
    is_pinned: bool = False
    epochs: Sequence[int] | None = None
    """Batches that the agent knows in each epoch, where its epochs are not the program's passes."""
    like: str | None = None
    """Of this case are its batches without the agent."""


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(5)


def plain(batches: Any) -> list[Any]:
    return [batch.tolist() for batch in batches]


def twice(loader: Loader) -> Drawn:
    return [plain(loader), plain(loader)]


def once(loader: Loader) -> Drawn:
    return [plain(loader)]


def left_early(loader: Loader) -> Drawn:
    left = [batch for _, batch in zip(range(2), loader, strict=False)]
    return [plain(left), plain(loader)]


def sorted_once(loader: Loader) -> Drawn:
    return [sorted(plain(loader))]


def map_style(draw: Callable[[Loader], Drawn] = once, like: str | None = None, **settings: Any) -> Case:
    size = {} if "batch_sampler" in settings else {"batch_size": 2}
    return Case(lambda: DataLoader(Squares(), **{**size, **settings}), draw, like=like)


def iterable(draw: Callable[[Loader], Drawn] = once, **settings: Any) -> Case:
    return Case(lambda: DataLoader(Sharded(), **{"batch_size": 2, **settings}), draw)


def infinite(num_workers: int) -> Case:
    return Case(lambda: Infinite(Squares(), batch_size=2, num_workers=num_workers), twice, epochs=[SAMPLES])


def distributed(num_workers: int) -> Loader:
    data = Squares()
    sampler: DistributedSampler[int] = DistributedSampler(data, num_replicas=2, rank=1, shuffle=True, seed=3)
    return DataLoader(data, batch_size=2, sampler=sampler, num_workers=num_workers)


CASES: dict[str, Case] = {
    "shuffled": Case(lambda: DataLoader(Squares(), batch_size=2, shuffle=True, generator=seeded()), twice),
    "sampler": map_style(sampler=range(SAMPLES - 1, -1, -1), num_workers=1),
    "batch sampler": map_style(batch_sampler=BatchSampler(SequentialSampler(range(7)), 3, False), num_workers=1),
    "weighted": Case(
        lambda: DataLoader(Squares(), 2, sampler=WeightedRandomSampler([0.1] * SAMPLES, 8, generator=seeded())), twice
    ),
    "distributed": Case(lambda: distributed(0), twice),
    "distributed, workers": Case(lambda: distributed(2), once),
    "generator": Case(
        lambda: DataLoader(Squares(), 2, sampler=RandomSampler(range(SAMPLES), generator=seeded())), once
    ),
    "collate": map_style(collate_fn=add_up, num_workers=1),
    "worker_init_fn": map_style(worker_init_fn=shift, num_workers=2),
    "timeout": map_style(timeout=60, num_workers=1),
    "getitems": Case(lambda: DataLoader(SquaresAtOnce(), batch_size=2), twice),
    "getitems, workers": Case(lambda: DataLoader(SquaresAtOnce(), batch_size=2, num_workers=2), once),
    "no batches": map_style(batch_size=None, num_workers=2),
    "prefetch 1": map_style(twice, prefetch_factor=1, num_workers=2),
    "prefetch 6": map_style(prefetch_factor=6, num_workers=1),
    "any order": map_style(sorted_once, in_order=False, num_workers=2),
    "spawn": map_style(like="timeout", num_workers=1, multiprocessing_context="spawn"),
    "forkserver": map_style(like="timeout", num_workers=1, multiprocessing_context="forkserver"),
    "persistent, left early": map_style(left_early, num_workers=2, persistent_workers=True),
    "iterable": iterable(),
    "iterable, workers": iterable(twice, num_workers=2),
    "iterable, persistent": iterable(twice, num_workers=2, persistent_workers=True),
    "iterable, left early": iterable(left_early, num_workers=2),
    "iterable, no batches": iterable(batch_size=None, num_workers=1),
    "overrides iter": Case(lambda: Doubling(Squares(), batch_size=2, num_workers=1), once),
    "own loop": Case(lambda: OwnIterator(Squares(), batch_size=2, num_workers=2), once),
    "own loop, spawned": Case(
        lambda: OwnIterator(Squares(), batch_size=2, num_workers=2, multiprocessing_context="forkserver"), once
    ),
    "infinite": infinite(0),
    "infinite, workers": infinite(2),
    "pinned": Case(lambda: DataLoader(Squares(), batch_size=2, pin_memory=True), twice, is_pinned=True),
    "pinned by thread": Case(
        lambda: DataLoader(Squares(), 2, pin_memory=True, num_workers=2, persistent_workers=True), twice, is_pinned=True
    ),
    "pins itself": Case(
        lambda: DataLoader(Squares(), 2, pin_memory=True, num_workers=1, collate_fn=Pinnable), once, is_pinned=True
    ),
}

WITH_A_SAMPLER_OF_THEIR_OWN = {"infinite", "infinite, workers"}
"""It is not asked for its length."""

OLDER_THAN_WATCH = {"infinite, workers"}
"""Their workers were started in the constructor."""


@dataclass(frozen=True, slots=True)
class Matrix:
    bare: dict[str, Drawn]
    watched: dict[str, Drawn]
    service: Service


@contextmanager
def accelerator() -> Iterator[None]:
    """As if there were one: torch pins memory only then. The copy takes ``PIN_S``."""

    def pin(tensor: Tensor) -> Tensor:
        time.sleep(PIN_S)
        return tensor.clone()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.accelerator, "is_available", lambda: True)
        patch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cpu"))
        patch.setattr(torch.accelerator, "current_device_index", lambda: 0)
        patch.setattr(torch.accelerator, "set_device_index", lambda _: None)
        patch.setattr(torch.Tensor, "pin_memory", pin)
        yield


@cache
def is_asked_for() -> bool:
    """Whether this torch asks for an accelerator: before 2.7 it pins for CUDA alone."""
    with accelerator():
        return bool(iter(DataLoader([0], pin_memory=True))._pin_memory)  # type: ignore[arg-type]


def draw_from(case: Case, see: Callable[[Loader], Any]) -> Drawn:
    if not case.is_pinned:
        loader = case.make()
        see(loader)
        return case.draw(loader)
    with accelerator():
        loader = case.make()
        see(loader)
        return case.draw(loader)


@pytest.fixture(scope="module")
def matrix() -> Iterator[Matrix]:
    bare = {name: draw_from(case, lambda _: None) for name, case in CASES.items() if case.like is None}
    with ready_spawn(), recording() as service:
        watched = {
            name: draw_from(case, lambda loader, name=name: underfed.watch(loader, name=name))  # type: ignore[misc]
            for name, case in CASES.items()
        }
    yield Matrix(bare, watched, service)


def places(passes: Sequence[int]) -> list[Place]:
    """Of so many batches in each epoch."""
    return [(epoch, batch) for epoch, batches in enumerate(passes) for batch in range(batches)]


def test_the_batches_are_those_without_the_agent(matrix: Matrix) -> None:
    for name, drawn in matrix.watched.items():
        assert drawn == matrix.bare[CASES[name].like or name], name
        assert all(drawn), name


def test_each_step_is_recorded_once_with_its_epoch_and_batch(matrix: Matrix) -> None:
    for name in matrix.watched:
        each_step_is_recorded_once(matrix, name)


def each_step_is_recorded_once(matrix: Matrix, name: str) -> None:
    case, seen = CASES[name], received(matrix.service, name)
    expected = places(case.epochs or [len(batches) for batches in matrix.watched[name]])
    assert sorted(seen.steps) == list(range(len(expected))), name
    if seen.facts["dataset_kind"] == "iterable" and seen.facts["settings"]["num_workers"] > 1:
        # torch numbers what it asked for: a worker that has no more leaves a gap.
        assert [epoch for epoch, _ in seen.places] == [epoch for epoch, _ in expected], name
        assert seen.places == sorted(set(seen.places)), name
    else:
        assert (sorted(seen.places) if case.draw is sorted_once else seen.places) == expected, name
    ended = ["exhausted"] * len(seen.epochs)
    if case.epochs or case.draw is left_early:
        ended[0] = "broken_off"
    assert [epoch["ended"] for epoch in seen.epochs.values()] == ended, name


def test_sampler_time_is_measured_within_each_step(matrix: Matrix) -> None:
    for name in matrix.watched:
        steps = received(matrix.service, name).steps.values()
        assert all(step.sampler_us is not None and step.sampler_us <= step.wait_us + 1 for step in steps), name


def test_each_batch_shows_how_it_was_loaded(matrix: Matrix) -> None:
    for name in matrix.watched:
        each_batch_shows_how_it_was_loaded(matrix, name)


def each_batch_shows_how_it_was_loaded(matrix: Matrix, name: str) -> None:
    case, seen = CASES[name], received(matrix.service, name)
    if name in OLDER_THAN_WATCH:
        assert seen.batches == {}, name
        return
    expected = LOADED | ({"worker"} if seen.facts["settings"]["num_workers"] else set())
    for place in seen.places:
        batch = seen.batches[place]
        assert expected <= set(batch), (name, place)
        assert ("pin_us" in batch) == (case.is_pinned and is_asked_for()), (name, place)
        assert batch["samples"] >= 1, (name, place)
        assert batch["collate_us"] <= batch["load_us"], (name, place)
        assert batch["start_us"] + batch["load_us"] <= batch["received_us"] + 1, (name, place)
        assert batch.get("pin_us", PIN_S * 1e6) >= PIN_S * 1e6, (name, place)
    if case.epochs is None and case.draw is not left_early:
        assert set(seen.batches) == set(seen.places), name


class AfterPinning:
    """A sampler whose third batch comes once the copy of the second has begun: the first was pinned before the iterator
    asked for all that it asks for at the beginning of a pass."""

    def __init__(self, pins: list[Any]) -> None:
        self.pins = pins

    def __iter__(self) -> Iterator[int]:
        before = len(self.pins)
        for index in range(SAMPLES):
            if index == 4:
                wait_until(lambda: len(self.pins) >= before + 2, "two batches are pinned")
            yield index

    def __len__(self) -> int:
        return SAMPLES


@pytest.mark.skipif(not is_asked_for(), reason="this torch pins for CUDA alone")
def test_a_batch_is_known_to_be_pinned_however_early_that_was() -> None:
    pins: list[Any] = []
    with recording() as service, accelerator(), pytest.MonkeyPatch.context() as patch:
        pin: Callable[[Tensor], Tensor] = torch.Tensor.pin_memory

        def noted(tensor: Tensor) -> Tensor:
            pins.append(tensor)
            return pin(tensor)

        patch.setattr(torch.Tensor, "pin_memory", noted)
        sampler: Any = AfterPinning(pins)
        loader = DataLoader(Squares(), 2, sampler=sampler, pin_memory=True, num_workers=2, persistent_workers=True)
        underfed.watch(loader, name="early")
        next(iter(loader))  # a pass that is left: what is pinned of it when the next begins belongs to neither
        twice(loader)
    batches = received(service, "early").batches
    assert [place for place, batch in sorted(batches.items()) if "pin_us" not in batch and place[0] > 0] == []
    assert batches[0, 0]["pin_us"] >= PIN_S * 1e6


def test_what_is_not_measured_is_known(matrix: Matrix) -> None:
    for name in matrix.watched:
        what_is_not_measured_is_known(matrix, name)


def what_is_not_measured_is_known(matrix: Matrix, name: str) -> None:
    seen = received(matrix.service, name)
    unmeasured = {fact for fact in seen.not_measured if not fact.startswith(("gpu_", "h2d_"))}
    expected = {"dataset_length", "batches_per_epoch"} if seen.facts["dataset_kind"] == "iterable" else set()
    if not seen.facts["settings"]["num_workers"]:
        expected |= {"queue_depth"}
    if name in OLDER_THAN_WATCH:
        expected |= (LOADED | {"asked_bytes", "read_bytes"}) - {"start_us", "received_us"}
    if name in WITH_A_SAMPLER_OF_THEIR_OWN:
        expected |= {"batches_per_epoch"}
    if "constructor_call" not in seen.facts:
        expected |= {"constructor_call"}  # where it is not certain which call it was
    assert unmeasured == expected, name


def test_nothing_is_lost_or_fails(matrix: Matrix) -> None:
    assert agent_errors(matrix.service) == 0
    assert names(matrix.service) == list(matrix.watched)


# Several at once, and a whole program's


def test_a_loader_within_another_has_steps_of_its_own() -> None:
    with recording() as service:
        inner = underfed.watch(DataLoader(Squares(4), batch_size=2), name="inner")
        outer = underfed.watch(DataLoader(WithinAnother(inner), batch_size=None), name="outer")
        assert plain(outer) == [14.0, 15.0, 16.0]
    assert received(service, "outer").places == places([3])
    assert received(service, "inner").places == places([2, 2, 2])
    assert set(received(service, "outer").batches) == set(places([3]))
    assert set(received(service, "inner").batches) == set(places([2, 2, 2]))


def test_what_workers_draw_from_is_not_recorded_with_a_program_either() -> None:
    with recording() as service:
        control.watch_all()
        inner: Loader = DataLoader(Squares(4), batch_size=2)
        outer: Loader = DataLoader(WithinAnother(inner), batch_size=None, num_workers=1, multiprocessing_context="fork")
        assert plain(outer) == [14.0, 15.0, 16.0]
    assert names(service) == ["loader-1"]
    assert received(service, "loader-1").facts["dataset_type"] == "WithinAnother"
    assert set(received(service, "loader-1").batches) == set(places([3]))
    assert agent_errors(service) == 0


def test_two_loaders_in_one_step_and_validation_in_between_are_distinguished() -> None:
    with recording() as service:
        train = underfed.watch(DataLoader(Squares(), batch_size=2, num_workers=1), name="train")
        other = underfed.watch(DataLoader(Squares(24), batch_size=4), name="other")
        val = underfed.watch(DataLoader(Squares(4), batch_size=2), name="val")
        for number, (_, _) in enumerate(zip(train, other, strict=True)):
            if number in (2, 5):
                assert len(plain(val)) == 2
    assert received(service, "train").places == received(service, "other").places == places([6])
    assert received(service, "val").places == places([2, 2])
    unended = [number for number, step in received(service, "other").steps.items() if step.step_us is None]
    assert unended == [2, 5]
    assert agent_errors(service) == 0


def test_all_loaders_of_a_program_are_recorded_unasked() -> None:
    with recording() as service:
        control.watch_all()
        eternal = Infinite(Squares(), batch_size=2, num_workers=1)
        val: Loader = DataLoader(Squares(4), batch_size=2, num_workers=1, persistent_workers=True)
        for _ in range(2):
            for _ in eternal:
                pass
            for _ in val:
                pass
            for _ in DataLoader(Sharded(), batch_size=3):
                pass
        del eternal, val
    infinite, checked, anew = (received(service, name) for name in ("loader-1", "loader-2", "loader-3"))
    assert names(service) == ["loader-1", "loader-2", "loader-3"]
    assert (infinite.places, checked.places, anew.places) == (places([SAMPLES]), places([2, 2]), places([4, 4]))
    assert set(infinite.places) <= set(infinite.batches)
    assert set(checked.batches) == set(checked.places)
    assert {infinite.facts["watched_at"].partition(":")[0]} == {"test_every_loader.py"}
    assert "load_us" not in infinite.not_measured
    assert agent_errors(service) == 0


def test_loaders_that_one_line_constructs_anew_are_distinguished() -> None:
    """A framework's line, under which all of a program's loaders are iterated; some let go of them, some do not."""
    train, val, kept = Squares(), Squares(4), []
    with recording() as service:
        control.watch_all()
        for _ in range(3):
            for data, shuffle in ((train, True), (val, False)):
                loader: Loader = DataLoader(data, batch_size=2, shuffle=shuffle)
                kept += [loader] * (data is val)
                assert plain(loader)
    assert names(service) == ["loader-1", "loader-2"]
    assert received(service, "loader-1").places == places([6, 6, 6])
    assert received(service, "loader-2").places == places([2, 2, 2])


def test_two_loaders_over_the_same_data_at_once_are_two() -> None:
    data = Squares()
    with recording() as service:
        control.watch_all()
        pair: list[Loader] = [DataLoader(data, batch_size=2) for _ in range(2)]
        for _ in range(2):
            assert len([*zip(*pair, strict=True)]) == 6
    assert [received(service, name).places for name in names(service)] == [places([6, 6])] * 2


def test_a_loader_that_is_iterated_twice_at_once_has_each_step_once() -> None:
    with recording() as service:
        loader = underfed.watch(DataLoader(Squares(4), batch_size=2), name="train")
        assert len([*zip(loader, loader, strict=True)]) == 2
    assert sorted(received(service, "train").places) == places([2, 2])
