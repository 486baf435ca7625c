"""How a recording ended: its process marks that it is leaving, kernel or launcher report with which status it left."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from underfed.exchange import run_files
from underfed.exchange.facts import End, Leaving, read_facts
from underfed.host import procfs

UNKNOWN_STATUS = "its exit status is not known"
UNREPORTED = f"{UNKNOWN_STATUS}: nobody was told it but its parent"
NO_MARK = "the process ended without marking its end"


@dataclass(frozen=True, slots=True)
class SeenEnd:
    end: End
    is_last: bool = True
    """Nothing more will be known of it."""


def read_mark(directory: Path) -> End | Leaving | None:
    """What the process marked: that the program ended the recording, or that Python is about to exit."""
    path = directory / run_files.END
    try:
        return read_facts(path, End)
    except KeyError:
        return read_facts(path, Leaving)
    except FileNotFoundError:
        return None


def launchers_word(directory: Path) -> int | None:
    """Exit status from ``underfed run``, where it is the parent of this process."""
    with suppress(OSError, ValueError):
        status = json.loads((directory / run_files.STATUS).read_text())
        return status if isinstance(status, int) else None
    return None


def end_while_leaving(mark: Leaving) -> End:
    """As far as it is known before the process is gone. In a container that ends with the process it stays so."""
    return _without_status(mark, UNKNOWN_STATUS)


def end_of(status: int | None, mark: Leaving | None) -> End:
    """``status``: as in ``subprocess``; ``None`` where only its parent knows it."""
    if status is None:
        return End("crashed", f"{NO_MARK}, {UNREPORTED}") if mark is None else _without_status(mark, UNREPORTED)
    if mark is None:
        reason = procfs.describe_exit(status)
        # A program may leave by ``os._exit(0)``: it reports success itself.
        return End("finished" if status == 0 else "crashed", reason if status < 0 else f"{NO_MARK}, {reason}", status)
    if status == 0:
        return End("finished", None, 0)
    return End("crashed", mark.last_words or procfs.describe_exit(status), status)


def _without_status(mark: Leaving, remark: str) -> End:
    if mark.last_words is None:
        return End("finished", remark)
    return End("crashed", f"{mark.last_words} ({remark})")
