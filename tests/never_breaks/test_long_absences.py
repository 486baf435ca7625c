"""A service that is away for days: what fits is kept, the oldest is dropped first, and what is dropped is counted."""

from __future__ import annotations

import statistics
from itertools import pairwise
from pathlib import Path

from tests.fakes.jobs import run_job
from tests.fakes.service import Service
from tests.fakes.traces import wait_for_collectors
from tests.never_breaks.evidence import assert_all_arrived, push
from underfed.collector.spool.segment import Frame, read_segment
from underfed.collector.spool.spool_directory import BOUND_BYTES
from underfed.collector.wire import decode_window

DAYS_S = 48 * 3600
STEPS_PER_S = 50
"""Of 20 ms each."""


def kept_frames(data: Path) -> list[tuple[Frame, int]]:
    """Each with its size in bytes."""
    (segment,) = data.glob("spool/*/*.segment")
    frames = list(read_segment(segment, int(segment.stem)))
    ends = [0, *(frame.end for frame in frames)]
    return [(frame, end - start) for frame, (start, end) in zip(frames, pairwise(ends), strict=True)]


def bytes_a_second(frames: list[tuple[Frame, int]]) -> float:
    """At ``STEPS_PER_S``, also where a busy machine takes fewer: each window has a part that grows with its steps."""
    windows = [(decode_window(frame.body), size) for frame, size in frames]
    steps = [sum(len(each["step_us"]) for each in window["steps"]) for window, _ in windows if "run" not in window]
    sizes = [size for window, size in windows if "run" not in window]
    slope, intercept = statistics.linear_regression(steps, sizes)
    return intercept + slope * STEPS_PER_S


def test_two_days_of_a_rank_fit_into_the_bound(absent_service: Service, run_id: str, tmp_path: Path) -> None:
    arguments = ("--length", "1200", "--work-ms", "19", "--epochs", "1", "--workers", "4")
    assert run_job(*arguments).returncode == 0
    wait_for_collectors(run_id)
    frames = kept_frames(tmp_path / "data")
    assert len(frames) > 4
    assert bytes_a_second(frames) * DAYS_S < BOUND_BYTES
    absent_service.start()
    assert push().returncode == 0
    assert_all_arrived(absent_service, 300)
