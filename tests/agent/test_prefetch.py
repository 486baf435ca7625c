"""The prefetcher gives what its loader gives: the same batches in their order, errors and ends in their place."""

from __future__ import annotations

import gc
import random
import traceback
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

import underfed
from tests.fakes.datasets import Failing, Numbers
from tests.fakes.machine import Machine, Worked
from tests.fakes.streams import ns
from tests.fakes.tensors import SimulatedTensor
from underfed.errors import ConfigError
from underfed.trainer.prefetcher.passes import Pass
from underfed.trainer.prefetcher.prefetched import Prefetched


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr("underfed.trainer.prefetcher.copy_stream._free_streams", {})
    return Machine()


def seeded(loader: Iterable[Any]) -> list[Any]:
    random.seed(5)
    torch.manual_seed(5)
    return [batch.tolist() for batch in loader]


# Without streams


@pytest.mark.parametrize("workers", [0, 2])
def test_on_a_cpu_the_loaders_own_iterator_is_handed_out(workers: int) -> None:
    loader = DataLoader(Numbers(16), batch_size=4, num_workers=workers)
    prefetched = underfed.prefetch(loader, device="cpu")
    assert type(iter(prefetched)) is type(iter(loader))
    assert seeded(prefetched) == seeded(loader)
    assert seeded(prefetched) == seeded(loader), "each iter is a new pass"
    assert len(prefetched) == len(loader) == 4


def test_on_a_cpu_errors_come_where_they_come_from() -> None:
    prefetched = iter(underfed.prefetch(DataLoader(Failing(12, bad=5), batch_size=4), device="cpu"))
    next(prefetched)
    with pytest.raises(ValueError, match="5"):
        next(prefetched)
    assert next(prefetched)[0, 0] == 8


def test_a_transform_is_applied_on_a_cpu_too() -> None:
    loader = DataLoader(Numbers(8), batch_size=4)
    doubled = underfed.prefetch(loader, "cpu", transform=lambda batch: batch * 2)
    assert [batch[:, 0].tolist() for batch in doubled] == [[0, 2, 4, 6], [8, 10, 12, 14]]


def test_a_device_without_streams_of_ours_still_gets_the_batches() -> None:
    loader = DataLoader(Numbers(8), batch_size=4)
    prefetched = underfed.prefetch(loader, torch.device("meta"), transform=lambda batch: (batch, "t"))
    assert [(batch.device.type, batch.shape, mark) for batch, mark in prefetched] == [("meta", (4, 3), "t")] * 2


def test_what_has_no_length_has_none_when_prefetched() -> None:
    prefetched = underfed.prefetch(iter([1, 2]), device="cpu")
    with pytest.raises(TypeError):
        len(prefetched)
    assert list(prefetched) == [1, 2]


@pytest.mark.parametrize("device", ["gpu", 1.5, None])
def test_a_device_that_there_is_none_of_is_refused_at_once(device: Any) -> None:
    with pytest.raises(ConfigError, match=r"prefetch\(\) takes a device such as 'cuda'"):
        underfed.prefetch([], device=device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a device")
def test_cuda_where_there_is_none_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match=r"prefetch\(\) to cuda:0: PyTorch finds no CUDA device here"):
        underfed.prefetch([], device="cuda:0")


# Order, errors, ends


def test_errors_come_with_their_batch_and_what_follows_comes_after(machine: Machine) -> None:
    class Loader:
        def __init__(self) -> None:
            self.number = -1

        def __iter__(self) -> Loader:
            return self

        def __next__(self) -> SimulatedTensor:
            self.number += 1
            if self.number in (0, 3):
                raise ValueError(f"batch {self.number}")
            if self.number == 5:
                raise StopIteration
            return machine.memory.tensor(self.number)

    prefetched = machine.prefetch(Loader())
    seen: list[Any] = []
    for _ in range(7):
        try:
            seen.append(int(next(prefetched)))
        except (ValueError, StopIteration) as error:
            seen.append(error)
            names = [entry.name for entry in traceback.extract_tb(error.__traceback__)]
            assert names[-1] == "__next__", "the loader's own frame comes last"
            assert len(names) <= 5
    assert [str(each) if isinstance(each, ValueError) else each for each in seen[:5]] == [
        "batch 0", 1, 2, "batch 3", 4
    ]  # fmt: skip
    assert isinstance(seen[5], StopIteration)


def test_an_error_in_a_transform_comes_with_its_batch(machine: Machine) -> None:
    def transform(batch: SimulatedTensor) -> SimulatedTensor:
        if int(batch) == 2:
            raise KeyError("label")
        return batch

    prefetched = machine.prefetch(machine.plain(4), transform)
    assert [int(next(prefetched)), int(next(prefetched))] == [0, 1]
    with pytest.raises(KeyError, match="label"):
        next(prefetched)
    assert int(next(prefetched)) == 3
    assert machine.torn_reads() == 0


def test_a_ctrl_c_while_the_next_batch_is_fetched_loses_nothing(machine: Machine) -> None:
    class Interrupted:
        def __init__(self) -> None:
            self.calls = -1

        def __iter__(self) -> Interrupted:
            return self

        def __next__(self) -> SimulatedTensor:
            self.calls += 1
            if self.calls == 2:
                raise KeyboardInterrupt
            return machine.memory.tensor(self.calls - (self.calls > 2))

    prefetched = machine.prefetch(Interrupted())
    assert int(next(prefetched)) == 0
    with pytest.raises(KeyboardInterrupt):
        next(prefetched)
    assert [int(next(prefetched)) for _ in range(3)] == [1, 2, 3]
    assert machine.torn_reads() == 0


def test_leaving_early_releases_everything_at_once(machine: Machine) -> None:
    machine.memory.copy_ms = 0.5
    gc.disable()
    try:
        for batch in machine.prefetch(machine.plain(10)):
            if int(batch) == 3:
                break
        assert machine.closed == 1, "the loader's iterator has ended without the garbage collector"
    finally:
        gc.enable()
    del batch
    assert machine.memory.alive == 1, "the source of a copy that goes on"
    machine.device.host(5.0)
    machine.train(machine.prefetch(machine.plain(30, 0.1)), 5.0)
    assert machine.torn_reads() == 0
    machine.prefetch([]).close()
    assert machine.memory.alive == 0
    assert len(machine.streams.side_streams) == 1


def test_leaving_while_holding_an_error_releases_everything_too(machine: Machine) -> None:
    def loader() -> Iterator[Any]:
        yield from machine.plain(2)
        raise ValueError("never asked for")

    gc.collect()  # what earlier tests left
    gc.disable()
    try:
        for number, _ in enumerate(machine.prefetch(loader())):
            if number == 1:
                break
        assert machine.closed == 1
        assert [each for each in gc.get_objects() if type(each) is Pass] == []
    finally:
        gc.enable()


def test_batches_that_nobody_took_cost_no_events(machine: Machine) -> None:
    def failing(batch: SimulatedTensor) -> SimulatedTensor:
        raise ValueError(int(batch))

    made = []
    for _ in range(10):
        next(machine.prefetch(machine.plain(3)))
        with pytest.raises(ValueError, match="0"):
            next(machine.prefetch(machine.plain(3), failing))
        machine.device.host(100.0)
        made.append(machine.device.events)
    assert made[-1] == made[1]


def test_a_pass_that_ends_while_a_graph_is_captured_leaves_it_alone(machine: Machine) -> None:
    prefetched = machine.prefetch(machine.plain(3))
    next(prefetched)
    with machine.device.capturing():
        prefetched.close()
    assert not machine.device.capture_is_broken


def test_a_closed_pass_gives_nothing_more(machine: Machine) -> None:
    prefetched = machine.prefetch(machine.plain(10))
    next(prefetched)
    prefetched.close()
    prefetched.close()
    assert list(prefetched) == []
    assert machine.closed == 1


def test_epochs_use_one_stream_and_passes_side_by_side_use_one_each(machine: Machine) -> None:
    for _ in range(5):
        machine.train(machine.prefetch(machine.plain(8)), 2.0)
    assert len(machine.streams.side_streams) == 1
    made = machine.device.events
    train, validate = machine.prefetch(machine.plain(8)), machine.prefetch(machine.plain(8))
    pairs = [(int(a), int(b)) for a, b in zip(train, validate, strict=True)]
    assert pairs == [(number, number) for number in range(8)]
    assert len(machine.streams.side_streams) == 2
    assert machine.device.events > made
    assert machine.torn_reads() == 0


def test_each_iter_of_a_prefetched_loader_is_a_new_pass(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("underfed.trainer.prefetcher.prefetched.cuda_streams", lambda _: machine.streams)
    loader = [machine.memory.tensor(number) for number in range(5)]
    prefetched = Prefetched(loader, torch.device("cuda"), None)
    assert machine.train(prefetched, 1.0) == machine.train(prefetched, 1.0) == list(range(5))
    assert len(prefetched) == 5


# Looking ahead


def test_of_a_loader_that_nothing_is_known_of_one_batch_is_fetched_ahead(machine: Machine) -> None:
    fetched: list[int] = []

    def loader() -> Iterator[Any]:
        for number in range(4):
            fetched.append(number)
            yield machine.memory.tensor(number)

    prefetched = machine.prefetch(loader())
    assert (int(next(prefetched)), fetched) == (0, [0, 1])
    assert (int(next(prefetched)), fetched) == (1, [0, 1, 2])


def test_a_batch_in_hand_is_never_held_up_by_one_that_is_not_there(machine: Machine) -> None:
    worked = Worked(machine, [1.0, 2.0, 50.0, 51.0, 52.0])
    prefetched = machine.prefetch(worked)
    machine.device.host(3.0)
    came = []
    for batch in prefetched:
        came.append((int(batch), machine.device.now // ns(1.0)))
        machine.device.host(4.0)
    assert came == [(0, 3), (1, 7), (2, 50), (3, 54), (4, 58)]


@pytest.mark.parametrize(("ready", "fetched"), [(True, 2), (False, 1)])
def test_a_batch_that_came_early_counts_as_ready(machine: Machine, ready: bool, fetched: int) -> None:
    worked = Worked(machine, [0.0, 1.0])
    worked._task_info = {1: (0, 7)} if ready else {1: (0,)}
    next(machine.prefetch(worked))
    assert worked._rcvd_idx == fetched


def test_without_workers_batches_are_drawn_when_they_are_asked_for(machine: Machine) -> None:
    class Random(torch.utils.data.Dataset[float]):
        def __len__(self) -> int:
            return 8

        def __getitem__(self, index: int) -> float:
            return float(torch.rand(()))

    def run(prefetch: bool) -> list[float]:
        torch.manual_seed(3)
        loader = DataLoader(Random(), batch_size=2, collate_fn=list)
        drawn: list[float] = []
        for batch in machine.prefetch(loader) if prefetch else loader:
            drawn += [*batch, float(torch.rand(()))]  # as a model's dropout would
        return drawn

    assert run(prefetch=True) == run(prefetch=False)


@pytest.mark.parametrize("in_order", [True, False])
def test_a_loader_with_workers_gives_every_batch_once(machine: Machine, in_order: bool) -> None:
    loader = DataLoader(
        Numbers(64), batch_size=4, num_workers=2, collate_fn=first_number, persistent_workers=True, in_order=in_order
    )
    for _ in range(2):
        seen = list(machine.prefetch(loader))
        assert sorted(seen) == list(range(0, 64, 4))
        assert seen == sorted(seen) or not in_order


def test_the_host_never_waits_for_the_device(machine: Machine) -> None:
    machine.train(machine.prefetch(machine.plain(30, 0.1, "pinned")), 50.0)
    assert machine.device.synchronizations == 0
    assert machine.device.now < ns(30.0), "it ran ahead of 1,500 ms of work"


def first_number(samples: list[torch.Tensor]) -> int:
    return int(samples[0][0])
