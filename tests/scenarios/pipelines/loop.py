"""The training loop of most pipelines: its work is a sleep, as a device's is to the training thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from torch.utils.data import DataLoader

import underfed


def train(loader: DataLoader[Any], *, work_ms: float, epochs: int = 1, after_epoch: Callable[[], Any] = int) -> None:
    """Recorded epochs with ``work_ms`` a step."""
    watched = underfed.watch(loader, name="train")
    for _ in range(epochs):
        consume(watched, work_ms=work_ms)
        after_epoch()


def train_for(loader: DataLoader[Any], *, work_ms: float, seconds: float) -> None:
    """Epoch after epoch until the time is over, however fast the machine is."""
    watched, until = underfed.watch(loader, name="train"), time.monotonic() + seconds
    while True:
        for _batch in watched:
            time.sleep(work_ms / 1e3)
            if time.monotonic() > until:
                return


def consume(batches: Iterable[Any], *, work_ms: float) -> None:
    for _batch in batches:
        time.sleep(work_ms / 1e3)
