"""A service that is away for days: what fits is kept, the oldest is dropped first, and what is dropped is counted."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.jobs import run_job
from tests.fakes.service import Service
from tests.fakes.traces import wait_for_collectors
from tests.never_breaks.evidence import assert_all_arrived, push
from underfed.collector.spool.segment import SpooledWindow, read_segment
from underfed.collector.spool.spool_directory import BOUND_BYTES
from underfed.collector.wire import COMPRESSION, decode_window

pytestmark = pytest.mark.usefixtures("forked_collectors")

Columns = dict[str, Any]
DAYS_S = 48 * 3600
STEPS_PER_S = 50
"""Of 20 ms each."""


def kept_frames(data: Path) -> list[tuple[SpooledWindow, int]]:
    """Each with its size in bytes."""
    (segment,) = data.glob("spool/*/*.segment")
    frames = list(read_segment(segment, int(segment.stem)))
    ends = [0, *(frame.end for frame in frames)]
    return [(frame, end - start) for frame, (start, end) in zip(frames, pairwise(ends), strict=True)]


def bytes_a_second(frames: list[tuple[SpooledWindow, int]]) -> float:
    """With ``STEPS_PER_S`` in each window, also where a busy machine takes fewer: the recorded steps and batches are
    cut anew, and each piece stands once beside what else was recorded in each second."""
    found = [(decode_window(frame.body), size - len(frame.body)) for frame, size in frames]
    seconds = [(window, label_bytes) for window, label_bytes in found if not {"run", "end"} & window.keys()]
    steps, batches = (
        cut(joined([part for window, _ in seconds for part in window.get(name, [])])) for name in ("steps", "batches")
    )
    sizes = [
        label_bytes + len(encoded({**window, "steps": [some_steps], "batches": [some_batches]}))
        for some_steps, some_batches in zip(steps, batches, strict=False)
        for window, label_bytes in seconds
    ]
    return sum(sizes) / len(sizes)


def joined(parts: list[Columns]) -> Columns:
    return {
        name: [each for part in parts for each in part[name]] if isinstance(value, list) else value
        for name, value in parts[0].items()
    }


def cut(columns: Columns) -> list[Columns]:
    """Into pieces of a second each, without the rest."""
    length = min(len(value) for value in columns.values() if isinstance(value, list))
    return [
        {name: value[at : at + STEPS_PER_S] if isinstance(value, list) else value for name, value in columns.items()}
        for at in range(0, length - STEPS_PER_S + 1, STEPS_PER_S)
    ]


def encoded(window: Columns) -> bytes:
    """As it is stored."""
    return gzip.compress(json.dumps(window, separators=(",", ":")).encode(), COMPRESSION, mtime=0)


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
