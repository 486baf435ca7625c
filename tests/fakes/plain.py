"""A training job without any call of ours: ``python -m tests.fakes.plain --workers 2`` prints what it saw."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch.multiprocessing.spawn import spawn
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Squares(Dataset[Any]):
    """Each with the number of threads of the process that loads it."""

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> Any:
        return torch.tensor([float(index) ** 2]), torch.get_num_threads(), get_worker_info() is not None


class Endless(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter([(torch.tensor([float(number)]), 0, False) for number in range(40)])


def train(rank: int, options: argparse.Namespace) -> None:
    torch.manual_seed(rank)
    dataset = Endless() if options.iterable else Squares()
    loader: DataLoader[Any] = DataLoader(
        dataset,
        batch_size=4,
        shuffle=None if options.iterable else True,
        num_workers=options.workers,
        multiprocessing_context=options.context if options.workers else None,
    )
    steps, total, threads, by_worker = 0, 0.0, set(), set()
    for _ in range(options.epochs):
        for batch, counts, flags in loader:
            steps += 1
            total += float(batch.sum())
            threads |= set(counts.tolist())
            by_worker |= set(flags.tolist())
            time.sleep(0.001)
    print(f"rank {rank}: {steps} steps, {total:.0f}, threads {sorted(threads)}, by workers {by_worker}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--context")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--iterable", action="store_true")
    parser.add_argument("--processes", type=int, default=0)
    options = parser.parse_args()
    if options.processes:
        spawn(train, (options,), options.processes)  # type: ignore[no-untyped-call]
    else:
        train(int(os.environ.get("RANK", "0")), options)


if __name__ == "__main__":
    main()
