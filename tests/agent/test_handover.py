"""Handing over is measured with a real process, real descriptors and real shared memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from underfed.host import handover


def test_every_part_of_handing_over_takes_time() -> None:
    measured = handover.measure_handover()
    assert measured is not None
    assert measured.receive_us > 0 and measured.tensor_us > 0
    assert measured.write_tensor_us > 0 and measured.free_mb_us > 0
    assert measured.receive_wait_us >= 0 and measured.tensor_wait_us >= 0 and measured.write_mb_us >= 0


def test_nothing_is_left_of_a_measurement() -> None:
    files, shared = len(os.listdir("/proc/self/fd")), os.listdir("/dev/shm")  # noqa: PTH208 names only
    handover.measure_handover()
    assert len(os.listdir("/proc/self/fd")) <= files  # noqa: PTH208
    assert not [name for name in os.listdir("/dev/shm") if name.startswith("underfed-") and name not in shared]  # noqa: PTH208


def test_without_shared_memory_nothing_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "SHARED_PLACE", str(tmp_path / "none"))
    assert handover.measure_handover() is None
