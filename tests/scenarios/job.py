"""A training job with known sickness, as a script: ``python job.py --load-sleep-ms 30 --work-ms 10 --steps 60``.

The work of a step is a sleep, as a GPU's is to the training thread; loading sleeps, computes or reads.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

import underfed

READ_BYTES = 1 << 20


class Samples(Dataset[Tensor]):
    """One sample a batch: what loading it takes is what loading the batch takes."""

    def __init__(self, length: int, *, sleep_s: float, cpu_s: float, file: Path | None) -> None:
        self.length = length
        self.sleep_s = sleep_s
        self.cpu_s = cpu_s
        self.file = file

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(self.sleep_s)
        deadline = time.thread_time() + self.cpu_s
        while time.thread_time() < deadline:
            pass
        if self.file is not None:
            read_part(self.file, index)
        return torch.full((64,), float(index))


def forget(path: Path) -> None:
    """Empty the page cache of the file."""
    with path.open("rb") as stream:
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_part(path: Path, index: int) -> None:
    """The sample's part of the file, without read-ahead; a small file is read again and again."""
    with path.open("rb", buffering=0) as stream:
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        os.pread(stream.fileno(), READ_BYTES, index * READ_BYTES % path.stat().st_size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num-workers", type=int, default=0)
    parser.add_argument("--prefetch-factor", type=int)
    parser.add_argument("--load-sleep-ms", type=float, default=0.0)
    parser.add_argument("--load-cpu-ms", type=float, default=0.0)
    parser.add_argument("--file", type=Path, help="read a part of it for each sample; not in the page cache at first")
    parser.add_argument("--work-ms", type=float, default=10.0)
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.file is not None:
        forget(arguments.file)
    dataset = Samples(
        arguments.steps,
        sleep_s=arguments.load_sleep_ms / 1e3,
        cpu_s=arguments.load_cpu_ms / 1e3,
        file=arguments.file,
    )
    loader = DataLoader(
        dataset,
        batch_size=1,
        num_workers=arguments.num_workers,
        prefetch_factor=arguments.prefetch_factor,
    )
    for _batch in underfed.watch(loader, name="train"):
        time.sleep(arguments.work_ms / 1e3)


if __name__ == "__main__":
    main()
