"""One training: ``python -m benchmarks.tune.job DATA`` answers each :class:`Order` with when its steps ended, and how
many batches were wrong.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, default_collate

import underfed
from benchmarks import forked_jobs
from benchmarks.prediction.pipelines import Pipeline, pipelines


@dataclass(frozen=True, slots=True)
class Order:
    """It ends after so many steps, or after so many seconds. With ``tune`` the first are all that it trains."""

    pipeline: str
    num_workers: int
    prefetch_factor: int | None
    steps: int
    seconds: float | None
    tune: bool


class Numbered(Dataset[Any]):
    """Each sample with its index."""

    def __init__(self, pipeline: Pipeline, length: int) -> None:
        self.load = pipeline.load
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[int, Any]:
        return index, self.load(index)


class Collate:
    """The pipeline's own, beside the indices of the batch."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.own = pipeline.collate or default_collate

    def __call__(self, samples: Sequence[tuple[int, Any]]) -> tuple[list[int], Any]:
        return [index for index, _ in samples], self.own([sample for _, sample in samples])


def train(pipeline: Pipeline, order: Order) -> dict[str, Any]:
    """``ends_s``: of each step, since ``iter(loader)``; ``wrong``: batches that are not the next ones in order."""
    torch.set_num_threads(1)
    loader: DataLoader[Any] = DataLoader(
        Numbered(pipeline, order.steps * pipeline.batch_size),
        batch_size=pipeline.batch_size,
        num_workers=order.num_workers,
        prefetch_factor=order.prefetch_factor,
        collate_fn=Collate(pipeline),
    )
    loader = underfed.watch(loader, name="train", tune=order.tune)
    ends: list[float] = []
    wrong, begun = 0, time.perf_counter()
    for indices, _ in loader:
        first = len(ends) * pipeline.batch_size
        wrong += indices != list(range(first, first + pipeline.batch_size))
        pipeline.step()
        ends.append(time.perf_counter() - begun)
        if order.seconds is not None and ends[-1] > order.seconds:
            break
    lost = 0 if order.seconds is not None else order.steps - len(ends)
    return {"ends_s": ends, "wrong": wrong + lost}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    known = {pipeline.name: pipeline for pipeline in pipelines(parser.parse_args().data)}
    forked_jobs.answer(lambda order: train(known[order["pipeline"]], Order(**order)))


if __name__ == "__main__":
    main()
