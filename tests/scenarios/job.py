"""A training job with known sickness: ``python -m tests.scenarios.job --load-sleep-ms 30 --work-ms 10 --steps 60``.

The work of a step is a sleep, as a GPU's is to the training thread; loading sleeps, computes or reads.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader

import underfed
from tests.scenarios.pipelines.datafile import Parts, forget
from tests.scenarios.pipelines.effort import compute, wait
from tests.scenarios.pipelines.samples import Samples

READ_BYTES = 1 << 20


class Load:
    """One sample a batch: what loading it takes is what loading the batch takes."""

    def __init__(self, *, sleep_ms: float, cpu_ms: float, file: Path | None) -> None:
        self.sleep_ms = sleep_ms
        self.cpu_ms = cpu_ms
        self.parts = None if file is None else Parts(file, READ_BYTES)

    def __call__(self, index: int) -> None:
        wait(self.sleep_ms)
        compute(self.cpu_ms)
        if self.parts is not None:
            self.parts.read(index)


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
    load = Load(sleep_ms=arguments.load_sleep_ms, cpu_ms=arguments.load_cpu_ms, file=arguments.file)
    loader = DataLoader(
        Samples(arguments.steps, load),
        batch_size=1,
        num_workers=arguments.num_workers,
        prefetch_factor=arguments.prefetch_factor,
    )
    for _batch in underfed.watch(loader, name="train"):
        time.sleep(arguments.work_ms / 1e3)


if __name__ == "__main__":
    main()
