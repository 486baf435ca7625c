"""What ``underfed run`` and the processes below it tell each other: options down by environment, reports up by files.

The files lie in a private directory of the launcher's, one for each kind of reports, a line for each teller.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from underfed.exchange.rank import read_rank

LAUNCH = "UNDERFED_LAUNCH"
"""The directory. Set in every process below ``underfed run``."""

SET, REPLAY, ADVICE_OF = "UNDERFED_SET", "UNDERFED_REPLAY", "UNDERFED_ADVICE_OF"
COLLECTOR = "UNDERFED_COLLECTOR"
"""``python:directory:…``: whose packages a collector runs with, where the training's own environment has none."""

PYTHON, OLD_PYTHON = "python", "old-python"
"""Kinds of reports. A Python began that we reach, or one that is too old; ..."""
TORCH, UNHOOKED = "torch", "unhooked"
"""... it imported torch's DataLoader; that could not be hooked; ..."""
SETTLED, RECORDING = "set", "recording"
"""... ``--set`` came to a training loader; a recording began."""

REPORT_BYTES = 4096
"""A file of so many is not added to: a command may start a hundred thousand processes."""

Say = Callable[[str], None]


def started_by(environ: Mapping[str, str]) -> str:
    """``run`` below ``underfed run``, else ``watch``."""
    return "run" if environ.get(LAUNCH) else "watch"


def advice_of(environ: Mapping[str, str]) -> str | None:
    """The run whose advice ``--apply`` took."""
    return environ.get(ADVICE_OF) or None


def first_rank_only(environ: Mapping[str, str], say: Say) -> Say:
    """What every rank would say alike, one says."""
    return say if read_rank(environ).rank == 0 else lambda _line: None


def report(environ: Mapping[str, str], reports: str, detail: str = "") -> None:
    """Let the launcher know, if there is one. Raises nothing: on another host its directory is not there."""
    directory = environ.get(LAUNCH)
    if not directory:
        return
    try:
        file = os.open(Path(directory, reports), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError:
        return
    try:
        if os.fstat(file).st_size < REPORT_BYTES:
            os.write(file, detail.encode(errors="replace")[:400].replace(b"\n", b" ") + b"\n")
    except OSError:
        pass
    finally:
        os.close(file)


def read_reports(directory: Path) -> dict[str, list[str]]:
    """Details of each kind. Empty where nobody reported anything. Files that cannot be read are
    left out."""
    found: dict[str, list[str]] = {}
    with suppress(OSError):
        for path in sorted(directory.iterdir()):
            with suppress(OSError):
                found[path.name] = path.read_text(errors="replace").splitlines()
    return found


def why_no_loader(reports: Mapping[str, list[str]]) -> str:
    """The most that can be said of a command in which no recording began."""
    if UNHOOKED in reports:
        return f"no loader seen: {reports[UNHOOKED][0]}"
    if TORCH in reports:
        return "no loader seen: PyTorch was imported, and no DataLoader was iterated"
    if PYTHON in reports:
        return "no loader seen: PyTorch was not imported"
    if OLD_PYTHON in reports:
        return f"no loader seen: Python {reports[OLD_PYTHON][0]} is too old, 3.10 is the oldest that can be measured"
    return "no loader seen: no Python ran here that reads PYTHONPATH (-I, -E and -S do not, nor does a container's)"


def collector_words() -> list[str]:
    """The launcher's Python and where its packages lie, for a training environment without them; else nothing."""
    interpreter, *places = os.environ.get(COLLECTOR, "").split(os.pathsep)
    return [interpreter, *places] if interpreter and os.access(interpreter, os.X_OK) else []


def collector_variable(places: list[str]) -> str:
    """The inverse, for the launcher."""
    return os.pathsep.join([sys.executable, *places])
