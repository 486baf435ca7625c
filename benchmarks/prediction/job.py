"""One measured training run, recorded by the agent as a user's would be.

``python -m benchmarks.prediction.job`` answers each pipeline and :class:`Setting` with the mean step in microseconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader

import underfed
from benchmarks import forked_jobs
from benchmarks.prediction.pipelines import Pipeline, Samples, pipelines

LEAST_STEPS = 60
MOST_STEPS = 100_000
SETTLING = 12
"""Steps left out at the start, beside those that empty a full queue."""


@dataclass(frozen=True, slots=True)
class Setting:
    """``epoch_steps``: several epochs of so many steps, whose start-up counts; ``None``: one long epoch."""

    num_workers: int
    prefetch_factor: int | None = None
    persistent_workers: bool = False
    epoch_steps: int | None = None

    @property
    def settling(self) -> int:
        return SETTLING + self.num_workers * (self.prefetch_factor or 0)


def train(pipeline: Pipeline, setting: Setting) -> float:
    """Mean step in microseconds once it is steady; with ``epoch_steps``, over whole epochs except the first."""
    torch.set_num_threads(1)
    loader = underfed.watch(_loader(pipeline, setting), name="train")
    if setting.epoch_steps is not None:
        return _whole_epochs(loader, pipeline, setting.epoch_steps)
    ends: list[float] = []
    for _ in _batches(loader, pipeline.seconds, setting.settling, ends):
        pipeline.step()
        ends.append(time.perf_counter())
    settled = ends[setting.settling :]
    return (settled[-1] - settled[0]) / (len(settled) - 1) * 1e6


def _loader(pipeline: Pipeline, setting: Setting) -> DataLoader[Any]:
    steps = setting.epoch_steps or MOST_STEPS
    return DataLoader(
        Samples(pipeline, steps * pipeline.batch_size),
        batch_size=pipeline.batch_size,
        num_workers=setting.num_workers,
        prefetch_factor=setting.prefetch_factor,
        persistent_workers=setting.persistent_workers,
        collate_fn=pipeline.collate,
    )


def _batches(loader: DataLoader[Any], seconds: float, settling: int, ends: list[float]) -> Iterator[Any]:
    for batch in loader:
        yield batch
        if len(ends) > settling + LEAST_STEPS and ends[-1] - ends[settling] > seconds:
            return


def _whole_epochs(loader: DataLoader[Any], pipeline: Pipeline, epoch_steps: int) -> float:
    began: list[float] = []
    while len(began) < 5 or time.perf_counter() - began[1] < pipeline.seconds:
        began.append(time.perf_counter())
        for _ in loader:
            pipeline.step()
    return (time.perf_counter() - began[1]) / (len(began) - 1) / epoch_steps * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    known = {pipeline.name: pipeline for pipeline in pipelines(parser.parse_args().data)}
    forked_jobs.answer(lambda order: train(known[order["pipeline"]], Setting(**order["setting"])))


if __name__ == "__main__":
    main()
