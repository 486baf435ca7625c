"""The line of the program that watches or iterates a loader: loaders of one line are one loader of the run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import FrameType
from typing import NamedTuple

CALLER = 3
"""Frames from ``watching_line`` to the user's line: over ``control.watch`` and ``underfed.watch``."""

OURS_AND_TORCHS = (f"{os.sep}underfed{os.sep}", f"{os.sep}torch{os.sep}utils{os.sep}data{os.sep}")
INSTALLED = ("site-packages", "dist-packages")


class Site(NamedTuple):
    """A line of Python that runs."""

    file: str
    """As the code was compiled: relative to where the program was started, or no file at all, as in ``<stdin>``."""
    line: int
    package: str | None
    """The installed package that it is in; ``None``: the program itself."""

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}"


def watching_line() -> Site:
    """``train.py:41``: where ``underfed.watch`` was called."""
    return site_of(sys._getframe(CALLER))


def iterating_line() -> str:
    """The line of the program that iterates, or that has a framework iterate: outside installed packages."""
    frame: FrameType | None = sys._getframe(1)
    nearest = None
    while frame is not None:
        path = frame.f_code.co_filename
        is_frozen = path.startswith("<")
        if not is_frozen and not any(part in path for part in OURS_AND_TORCHS):
            nearest = nearest or frame
            if not _is_installed(path):
                return str(site_of(frame))
        frame = frame.f_back
    return str(site_of(nearest)) if nearest is not None else "?"


def site_of(frame: FrameType) -> Site:
    path = frame.f_code.co_filename
    package = str(frame.f_globals.get("__name__")).partition(".")[0] if _is_installed(path) else None
    return Site(path, frame.f_lineno, package)


def _is_installed(path: str) -> bool:
    return any(part in path for part in INSTALLED)
