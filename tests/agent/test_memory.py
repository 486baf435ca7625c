"""Batches are freed when torch frees them, with Python's collector of reference cycles off."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

import underfed
from tests.agent.test_every_loader import accelerator


class Batch:
    """One that can be held weakly, also when it was pinned."""

    def __init__(self, samples: list[Tensor]) -> None:
        self.samples = samples
        LIVING.add(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state
        LIVING.add(self)

    def pin_memory(self) -> Batch:
        return Batch(self.samples)


LIVING: weakref.WeakSet[Batch] = weakref.WeakSet()


class Zeros(Dataset[Tensor]):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> Tensor:
        return torch.zeros(4)


@pytest.fixture(autouse=True)
def no_cycle_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    LIVING.clear()
    yield
    gc.enable()


def leave_early(loader: Any) -> None:
    for number, _batch in enumerate(loader):
        if number == 3:
            break


def left_after(loader: Any, passes: int) -> int:
    for _ in range(passes):
        leave_early(loader)
    return len(LIVING)


@pytest.mark.parametrize("is_pinned", [False, True])
@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("how", ["watch", "prefetch", "both"])
def test_no_batch_outlives_its_iterator(is_pinned: bool, workers: int, how: str) -> None:
    def make() -> Any:
        loader = DataLoader(Zeros(), 2, num_workers=workers, pin_memory=is_pinned, collate_fn=Batch, prefetch_factor=4
                            if workers else None)  # fmt: skip
        loader = underfed.watch(loader, name="train") if how in ("watch", "both") else loader
        return underfed.prefetch(loader, "cpu") if how in ("prefetch", "both") else loader

    with accelerator():
        plain = DataLoader(Zeros(), 2, num_workers=workers, pin_memory=is_pinned, collate_fn=Batch)
        bare = left_after(plain, 2)
        LIVING.clear()
        assert left_after(make(), 2) <= bare


def test_iterators_sessions_and_files_go_with_the_loop() -> None:
    from underfed.trainer.hooks.session import Session

    loader = underfed.watch(DataLoader(Zeros(), 2, num_workers=1), name="train")
    leave_early(loader)
    before = sum(type(each) is Session for each in gc.get_objects())
    for _ in range(5):
        leave_early(loader)
    assert sum(type(each) is Session for each in gc.get_objects()) <= before
