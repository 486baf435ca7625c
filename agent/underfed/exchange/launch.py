"""Between ``underfed run`` and the processes below it: options go down in the environment, reports come up in files.

The files are in a private directory of the launcher's, one for each kind of reports, a line for each report.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from underfed.exchange.guard import append_line
from underfed.exchange.rank import read_rank
from underfed.host.signal_handlers import passing

LAUNCH = "UNDERFED_LAUNCH"
"""The directory. Set in every process below ``underfed run``."""

AUTOLOAD = "UNDERFED_AUTOLOAD"
"""``1``: as below ``underfed run``, without one: a cluster sets it with PYTHONPATH for all that it starts."""

SET, REPLAY, ADVICE_OF = "UNDERFED_SET", "UNDERFED_REPLAY", "UNDERFED_ADVICE_OF"
"""Settings by loader, number of batches, and the run whose advice ``--apply`` took."""

TUNE, TUNE_STEPS, TRIAL_ONLY = "UNDERFED_TUNE", "UNDERFED_TUNE_STEPS", "UNDERFED_TRIAL_ONLY"
"""``1``: other settings are tried; in how many steps at most; ``1``: the program ends after that."""

COLLECTOR = "UNDERFED_COLLECTOR"
"""``python:directory:…``: what a collector runs with where the training's environment lacks our packages."""

FIGURES = "UNDERFED_FIGURES"
"""Beginning of the address at which the launcher serves the figures of each process below it, by its pid."""

PYTHON, OLD_PYTHON = "python", "old-python"
"""Kinds of reports. A Python started that we can hook, or one that is too old; ..."""
TORCH, UNHOOKED = "torch", "unhooked"
"""... it imported torch's DataLoader; that could not be hooked; ..."""
SETTLED, RECORDING, TUNED = "set", "recording", "tuned"
"""... ``--set`` or ``--apply`` found a loader (its name; empty: one that is trained from); a recording began;
``--tune`` said at the end what came of it."""

REPORT_BYTES = 4096
"""Size from which a file is not appended to: a command may start a hundred thousand processes."""

Say = Callable[[str], None]
"""Prints a line for the person who trains."""


def first_rank_only(environ: Mapping[str, str], say: Say) -> Say:
    """``say`` on rank 0, nothing on the others: each would print the same line."""
    return say if read_rank(environ).rank == 0 else lambda _line: None


def first_of_host_only(environ: Mapping[str, str], say: Say) -> Say:
    """``say`` on the first rank of each host, whose terminals differ, nothing on the others."""
    return say if read_rank(environ).local_rank == 0 else lambda _line: None


def directory_of(environ: Mapping[str, str]) -> Path | None:
    """``None``: there is no launcher on this host."""
    directory = Path(environ.get(LAUNCH, ""))
    return directory if directory.is_absolute() and directory.is_dir() else None


def report(environ: Mapping[str, str], reports: str, detail: str = "") -> None:
    """Report to the launcher, if there is one. Raises nothing: on another host its directory does not exist."""
    directory = environ.get(LAUNCH)
    if directory:
        append_line(Path(directory, reports), detail, REPORT_BYTES)


def read_reports(directory: Path) -> dict[str, list[str]]:
    """Details by kind; empty where nothing was reported. Files that cannot be read are left out."""
    found: dict[str, list[str]] = {}
    with passing(OSError):
        for path in sorted(directory.iterdir()):
            with passing(OSError):
                found[path.name] = path.read_text(errors="replace").splitlines()
    return found


def why_no_loader(reports: Mapping[str, list[str]]) -> str:
    """Why no recording began in a command, as far as its reports show."""
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
    """The launcher's Python and its packages' directories, for a training environment without them; else nothing."""
    interpreter, *places = os.environ.get(COLLECTOR, "").split(os.pathsep)
    return [interpreter, *places] if interpreter and os.access(interpreter, os.X_OK) else []


def collector_variable(places: list[str]) -> str:
    """The inverse, for the launcher."""
    return os.pathsep.join([sys.executable, *places])
