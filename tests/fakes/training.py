"""A training job: a plain loop over a watched loader that ends in one of several ways and prints what it saw.

``python -m tests.fakes.training --workers 2 --end raise``; with ``UNDERFED_DISABLED=1`` the same job bare.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time

from torch.utils.data import DataLoader

import underfed
from tests.fakes.datasets import Failing, Numbers

LENGTH = 40


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--work-ms", type=float, default=1.0)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--length", type=int, default=LENGTH)
    parser.add_argument("--end", default="normally")
    options = parser.parse_args()
    dataset = Failing(options.length, bad=17) if options.end == "loader raises" else Numbers(options.length)
    loader = underfed.watch(DataLoader(dataset, batch_size=4, num_workers=options.workers), name="train")
    for epoch in range(options.epochs):
        for number, batch in enumerate(loader):
            print(epoch, number, batch[:, 0].tolist(), flush=True)
            time.sleep(options.work_ms / 1000)
            if number == 3:
                end(options.end)
                if options.end == "break":
                    break


def end(how: str) -> None:
    """In the middle of an epoch."""
    if how == "raise":
        raise ValueError("the loss is not a number")
    if how == "exit 3":
        sys.exit(3)
    if how == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "leave":
        os._exit(5)


if __name__ == "__main__":
    main()
