"""The prefetcher on a real device: every batch arrives whole, and how much of its copy was hidden is measured."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import underfed
from tests.fakes.service import Service, wait_until
from tests.gpu.gpu import Gpu


class Sizes(Dataset[dict[str, Any]]):
    """Batches of many sizes, each filled with its index, from 1 to 2 million elements."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> dict[str, Any]:
        size = 1 + random.Random(index).randrange(1 << random.Random(-index).randrange(1, 22))
        return {"x": torch.full((size,), float(index)), "parts": [torch.full((7,), index), f"batch {index}"]}


def whole(batch: dict[str, Any], gpu: Gpu) -> torch.Tensor:
    """Read the batch after other work, as a model would. Whether every element was right, decided on the device."""
    gpu.work(random.Random(int(batch["x"].numel())).random() * 2)
    x, numbers = batch["x"], batch["parts"][0]
    expected = int(batch["parts"][1].split()[1])
    is_whole: torch.Tensor = (x == expected).all() & (numbers == expected).all()
    return is_whole


@pytest.mark.parametrize(("workers", "pin"), [(0, False), (0, True), (2, False), (2, True)])
def test_every_batch_arrives_whole_whatever_its_size(gpu: Gpu, workers: int, pin: bool) -> None:
    loader = DataLoader(Sizes(300), batch_size=None, num_workers=workers, pin_memory=pin)
    answers, names = [], []
    for _ in range(2):
        for batch in underfed.prefetch(loader, device="cuda"):
            assert batch["x"].is_cuda and batch["parts"][0].is_cuda
            answers.append(whole(batch, gpu))
            names.append(batch["parts"][1])
            del batch
    assert names == [f"batch {index}" for index in range(300)] * 2
    assert bool(torch.stack(answers).all())


def test_a_transform_in_the_stream_beside_is_safe(gpu: Gpu) -> None:
    def doubled(batch: dict[str, Any]) -> dict[str, Any]:
        assert torch.cuda.current_stream() != torch.cuda.default_stream()
        return {**batch, "x": batch["x"] * 2}

    answers = []
    for index, batch in enumerate(underfed.prefetch(DataLoader(Sizes(200), batch_size=None), "cuda", doubled)):
        gpu.work(1.0)
        answers.append((batch["x"] == 2 * index).all())
        del batch
    assert bool(torch.stack(answers).all())


@dataclass(frozen=True)
class Frozen:
    x: torch.Tensor


def test_shapes_are_kept_and_objects_move_themselves(gpu: Gpu) -> None:
    packed = torch.nn.utils.rnn.pack_sequence([torch.arange(3.0), torch.arange(2.0)])
    sparse = torch.eye(3).to_sparse()
    given: list[Any] = [Frozen(torch.ones(3)), (torch.ones(2), None), packed, {"s": sparse}, torch.zeros(1).expand(5)]
    frozen, pair, moved, mapping, expanded = underfed.prefetch(given, device="cuda")
    assert frozen.x.is_cuda and pair[0].is_cuda and moved.data.is_cuda and mapping["s"].is_cuda and expanded.is_cuda
    assert (type(frozen), type(pair), pair[1]) == (Frozen, tuple, None)
    assert torch.equal(mapping["s"].to_dense().cpu(), torch.eye(3))
    assert not given[0].x.is_cuda


def test_batches_made_on_the_device_are_waited_for(gpu: Gpu) -> None:
    def loader() -> Iterator[torch.Tensor]:
        for index in range(100):
            made = torch.empty(1 << 18, device="cuda")
            gpu.work(1.0)
            yield made.fill_(index)

    answers = []
    for index, batch in enumerate(underfed.prefetch(loader(), "cuda", transform=lambda batch: batch + 1)):
        answers.append((batch == index + 1).all())
        del batch
    assert bool(torch.stack(answers).all())


def test_errors_and_early_ends_leave_nothing_behind(gpu: Gpu) -> None:
    def loader() -> Iterator[torch.Tensor]:
        yield torch.zeros(1 << 20)
        yield torch.ones(1 << 20)
        raise ValueError("the third")

    prefetched = iter(underfed.prefetch(loader(), "cuda"))
    assert [float(next(prefetched)[0]), float(next(prefetched)[0])] == [0.0, 1.0]
    with pytest.raises(ValueError, match="the third"):
        next(prefetched)
    with pytest.raises(StopIteration):
        next(prefetched)
    torch.cuda.synchronize()
    reserved = []
    for _ in range(20):
        for number, _batch in enumerate(underfed.prefetch(DataLoader(Sizes(20), batch_size=None), "cuda")):
            if number == 10:
                break
        torch.cuda.synchronize()
        reserved.append(torch.cuda.memory_reserved())
    assert reserved[-1] == reserved[4], "epochs share one stream and its memory"


class Images(Dataset[torch.Tensor]):
    """16 MB each, page-locked by the loader."""

    def __len__(self) -> int:
        return 60

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((4 << 20,), float(index))


def test_no_call_of_the_prefetcher_synchronises(gpu: Gpu) -> None:
    given = [torch.full((1 << 20,), float(index)).pin_memory() for index in range(30)]
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for batch in underfed.prefetch(given, device="cuda"):
            gpu.work(2.0)
            batch.add_(1)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize(("work_ms", "hidden"), [(20.0, True), (0.0, False)])
def test_how_much_of_a_copy_was_hidden_is_measured(service: Service, gpu: Gpu, work_ms: float, hidden: bool) -> None:
    loader = underfed.watch(DataLoader(Images(), batch_size=None, num_workers=2, pin_memory=True), name="train")
    for batch in underfed.prefetch(loader, device="cuda"):
        batch.add_(1)
        if work_ms:
            gpu.work(work_ms)
        torch.cuda.current_stream().synchronize()
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    assert service.windows[-1]["losses"]["agent_errors"] == 0
    assert service.count_steps() == 60
    copies = column(service, "h2d_us")[10:]
    exposed = column(service, "h2d_exposed_us")[10:]
    assert len(copies) >= 40
    begin, end = gpu.event(), gpu.event()
    source = torch.zeros(4 << 20).pin_memory()
    for _ in range(3):
        begin.record()
        source.to("cuda", non_blocking=True)
        end.record()
        end.synchronize()
    assert median(copies) == pytest.approx(begin.elapsed_time(end) * 1e3, rel=0.5)
    assert median(exposed) < 0.1 * median(copies) if hidden else median(exposed) > 0.5 * median(copies)


def column(service: Service, name: str) -> list[int]:
    return [value for part in service.steps() for value in part.get(name, []) if value is not None]
