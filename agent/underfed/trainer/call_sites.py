"""The line of the program that watches or iterates a loader: loaders of one line are one loader of the run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import FrameType

CALLER = 3
"""Frames from ``watching_line`` to the user's line: over ``control.watch`` and ``underfed.watch``."""

OURS_AND_TORCHS = (f"{os.sep}underfed{os.sep}", f"{os.sep}torch{os.sep}utils{os.sep}data{os.sep}")
INSTALLED = ("site-packages", "dist-packages")


def watching_line() -> str:
    """``train.py:41``: where ``underfed.watch`` was called."""
    return _line_of(sys._getframe(CALLER))


def iterating_line() -> str:
    """The line of the program that iterates, or that has a framework iterate: outside installed packages."""
    frame: FrameType | None = sys._getframe(1)
    nearest = None
    while frame is not None:
        path = frame.f_code.co_filename
        is_frozen = path.startswith("<")
        if not is_frozen and not any(part in path for part in OURS_AND_TORCHS):
            nearest = nearest or frame
            if not any(part in path for part in INSTALLED):
                return _line_of(frame)
        frame = frame.f_back
    return _line_of(nearest) if nearest is not None else "?"


def _line_of(frame: FrameType) -> str:
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
