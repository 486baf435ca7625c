"""Looks that find the agent itself are no part of loading, and are counted apart."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from types import CodeType

import pytest
import torch
from torch.utils.data import DataLoader

from underfed.exchange.stacks import read_stacks
from underfed.trainer.loading.batch_timer import BatchTimer
from underfed.trainer.loading.frame_names import FrameNames
from underfed.trainer.loading.own_frames import is_own_cost
from underfed.trainer.loading.probe import Probe
from underfed.trainer.loading.seen_code import SeenCode
from underfed.trainer.prefetcher.copy_stream import copy_times


def own_getitem() -> None:
    """Of the program."""


PROBE, TIMER = Probe.end.__code__, BatchTimer.taken.__code__
OF_PYTHON = threading.current_thread.__code__, json.dumps.__code__
OF_TORCH = DataLoader.__iter__.__code__, torch.nn.functional.relu.__code__
OF_THE_PROGRAM = own_getitem.__code__


@pytest.mark.parametrize(
    ("codes", "is_own"),
    [
        ((PROBE,), True),
        ((PROBE, TIMER, OF_TORCH[0], OF_THE_PROGRAM), True),
        ((*OF_PYTHON, PROBE, OF_TORCH[0]), True),
        ((OF_THE_PROGRAM, PROBE), False),
        ((OF_TORCH[1], PROBE), False),
        ((OF_PYTHON[0], OF_THE_PROGRAM, PROBE), False),
        ((copy_times.__code__, OF_THE_PROGRAM), False),
        ((OF_THE_PROGRAM,), False),
        (OF_PYTHON, False),
        ((), False),
    ],
)
def test_the_innermost_function_that_is_not_pythons_tells(codes: tuple[CodeType, ...], is_own: bool) -> None:
    assert is_own_cost([(code, 0) for code in codes]) is is_own


def test_they_are_in_no_stack_and_are_counted(tmp_path: Path) -> None:
    seen = SeenCode(tmp_path / "loader-0.0.0.stacks")
    seen.add("other", [(PROBE, 2)], 3, group=0)
    seen.add("getitem", [(OF_THE_PROGRAM, 2)], 5, group=2)
    seen.keep(FrameNames())
    counts = read_stacks(seen.path)
    assert counts.agent_samples == 3
    assert [(stack.stage, stack.samples[:3]) for stack in counts.stacks] == [("getitem", [0, 0, 5])]
    # What was written is not written again.
    seen.path.unlink()
    seen.keep(FrameNames())
    assert not seen.path.exists()
