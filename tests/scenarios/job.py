"""A training job with known sickness: ``python -m tests.scenarios.job --load-sleep-ms 30 --work-ms 10 --steps 60``.

The work of a step is a sleep, as a GPU's is to the training thread; loading is one too.
"""

from __future__ import annotations

import argparse
import time

import torch
from torch.utils.data import DataLoader

import underfed
from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.samples import Samples


class Load:
    """One sample a batch: what loading it takes is what loading the batch takes."""

    def __init__(self, ms: float) -> None:
        self.ms = ms

    def __call__(self, index: int) -> None:
        wait(self.ms)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num-workers", type=int, default=0)
    parser.add_argument("--prefetch-factor", type=int)
    parser.add_argument("--load-sleep-ms", type=float, default=0.0)
    parser.add_argument("--work-ms", type=float, default=10.0)
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    loader = DataLoader(
        Samples(arguments.steps, Load(arguments.load_sleep_ms)),
        batch_size=1,
        num_workers=arguments.num_workers,
        prefetch_factor=arguments.prefetch_factor,
    )
    for _batch in underfed.watch(loader, name="train"):
        time.sleep(arguments.work_ms / 1e3)


if __name__ == "__main__":
    main()
