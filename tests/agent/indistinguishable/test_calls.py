"""What is called when, and how often, is the same with the agent as without."""

from __future__ import annotations

import functools
import gc
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import Value, active_children
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset, SequentialSampler

from tests.agent.indistinguishable.twice import Loader, Zeros, assert_same, report
from tests.fakes.service import wait_until

FEEDER = "QueueFeederThread"


class Counted(Dataset[Tensor]):
    """Counts across processes."""

    def __init__(self) -> None:
        self.getitems = Value("i", 0)

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> Tensor:
        with self.getitems:
            self.getitems.value += 1
        return torch.zeros(1)


class CountedBatches(Counted):
    """Takes a batch's indices at once."""

    def __getitems__(self, indices: list[int]) -> list[Tensor]:
        with self.getitems:
            self.getitems.value += 1000
        return [torch.zeros(1) for _ in indices]


class CountedStream(IterableDataset[Tensor]):
    def __init__(self) -> None:
        self.getitems = Value("i", 0)

    def __iter__(self) -> Iterator[Tensor]:
        with self.getitems:
            self.getitems.value += 1000
        for _ in range(10):
            with self.getitems:
                self.getitems.value += 1
            yield torch.zeros(1)


class CountedSampler(SequentialSampler):
    """Notes when each index is sampled."""

    def __init__(self, dataset: Counted) -> None:
        super().__init__(dataset)
        self.drawn: list[str] = []

    def __iter__(self) -> Iterator[int]:
        self.drawn.append("iter")
        for index in super().__iter__():
            self.drawn.append(str(index))
            yield index


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize("kind", [Counted, CountedBatches, CountedStream])
def test_samples_are_fetched_as_often(kind: Callable[[], Any], num_workers: int) -> None:
    def see(loader: Any) -> list[int]:
        counts = [loader.dataset.getitems.value]
        for _ in range(2):
            list(loader)
            counts.append(loader.dataset.getitems.value)
        return counts

    seen = assert_same(lambda: DataLoader(kind(), batch_size=4, num_workers=num_workers), see)
    assert seen[0] == 0
    assert seen[1] > 0


@pytest.mark.parametrize("num_workers", [0, 2])
def test_indices_are_sampled_at_the_same_moments(num_workers: int) -> None:
    def make() -> Loader:
        dataset = Counted()
        return DataLoader(dataset, batch_size=4, num_workers=num_workers, sampler=CountedSampler(dataset))

    def see(loader: Loader) -> list[int]:
        sampler = loader.sampler
        assert isinstance(sampler, CountedSampler)
        moments = [len(sampler.drawn)]
        iterator = iter(loader)
        moments.append(len(sampler.drawn))
        for _ in iterator:
            moments.append(len(sampler.drawn))
        return moments

    seen = assert_same(make, see)
    assert seen[:3] == ([0, 17, 21] if num_workers else [0, 0, 5])


@pytest.mark.parametrize("settings", [{"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}])
def test_workers_start_and_end_at_the_same_moments(settings: dict[str, Any]) -> None:
    def see(loader: Loader) -> list[int]:
        moments = [len(active_children())]
        iterator = iter(loader)
        moments.append(len(active_children()))
        next(iterator)
        moments.append(len(active_children()))
        list(iterator)
        moments.append(len(active_children()))
        iter(loader)
        moments.append(len(active_children()))
        del iterator, loader
        return moments

    seen = assert_same(lambda: DataLoader(Zeros(), batch_size=4, **settings), see)
    assert seen[:3] == [0, 2, 2]


def test_no_thread_of_ours_runs_in_the_training_process() -> None:
    def see(loader: Loader) -> tuple[list[str], int]:
        gc.collect()
        # A loader's queues end their threads a moment after it.
        wait_until(lambda: FEEDER not in names(), "the threads of the last loader have ended")
        iterator = iter(loader)
        next(iterator)
        return sorted(names()), len(set.intersection(*(unknown() for _ in range(3))))

    def names() -> list[str]:
        # The tests' service answers the collector from this process, with a thread for each connection.
        return [thread.name for thread in threading.enumerate() if "process_request" not in thread.name]

    def unknown() -> set[int]:
        """Threads that are not Python's. One of Python's that begins or ends in between is, too, but not for long."""
        before = known()
        tasks = {int(task.name) for task in Path("/proc/self/task").iterdir()}
        time.sleep(0.02)
        return tasks - before - known()

    def known() -> set[int | None]:
        return {thread.native_id for thread in threading.enumerate()}

    seen, _native = assert_same(lambda: DataLoader(Zeros(), batch_size=4, num_workers=1), see)
    assert FEEDER in seen


@pytest.mark.parametrize("num_workers", [0, 1])
def test_after_the_last_batch_every_request_ends_the_same(num_workers: int) -> None:
    def see(loader: Loader) -> list[Any]:
        iterator = iter(loader)
        seen: list[Any] = [len(list(iterator))]
        for _ in range(3):
            seen.append(report(functools.partial(next, iterator)))
        return seen

    seen = assert_same(lambda: DataLoader(Zeros(), batch_size=4, num_workers=num_workers), see)
    assert all("StopIteration" in each for each in seen[1:])
