"""Gets to know a host before the first training on it: what could not be measured beside one."""

from __future__ import annotations

from pathlib import Path

from underfed.errors import SpoolLockedError
from underfed.host.lock import locked

PATIENCE_S = 0.5
"""A launcher for each rank, as srun starts them, finds that another one measures. It waits: its rank would disturb."""


def acquaint(data_directory: Path) -> None:
    """See to it that the host is calibrated (``calibrate``): about 0.5 s, once. Raises nothing.

    Where nothing can be kept nothing is measured, since every run would do so again. A single core has no curve.
    """
    from underfed.host.calibration import calibrate, read_cached, usable_cores

    if usable_cores() < 2 or read_cached(data_directory) is not None:
        return
    try:
        with locked(data_directory / "calibration", PATIENCE_S):
            calibrate(data_directory)
    except (OSError, SpoolLockedError):
        return
