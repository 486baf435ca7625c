"""One thread copies batches into page-locked memory, and is slower than the loop.

There is no accelerator here: a patch makes torch see one, and makes copying slow. The thread is torch's.
"""

from __future__ import annotations

import time
from unittest.mock import patch

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

PIN_MS: dict[Strength, float] = {"none": 2, "weak": 22, "clear": 40, "strong": 80}
WORK_MS = 20
STEPS: dict[Strength, int] = {"none": 100, "weak": 120, "clear": 60, "strong": 50}


def fetch(index: int) -> None:
    wait(8)


def run(strength: Strength) -> None:
    def pin(tensor: Tensor) -> Tensor:
        time.sleep(PIN_MS[strength] / 1e3)
        return tensor.clone()

    with (
        patch.object(torch.accelerator, "is_available", lambda: True),
        patch.object(torch.accelerator, "current_accelerator", lambda: torch.device("cpu")),
        patch.object(torch.accelerator, "current_device_index", lambda: 0),
        patch.object(torch.accelerator, "set_device_index", lambda _: None),
        patch.object(Tensor, "pin_memory", pin),
    ):
        loader = DataLoader(Samples(STEPS[strength], fetch), batch_size=1, num_workers=2, pin_memory=True)
        train(loader, work_ms=WORK_MS)


PIPELINE = Pipeline("pin_thread", run)
