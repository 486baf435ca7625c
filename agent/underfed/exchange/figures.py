"""How a rank's loading has gone so far: the collector publishes it beside the rings, ``underfed.stats()`` reads it.

A small file, replaced as a whole: reading it takes no lock and no socket.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from underfed.exchange.parts import read_small
from underfed.host.signal_handlers import let_through, passing

FILE = "figures.json"

MAXIMA = ("max_data_stall_fraction", "max_data_wait_us", "max_data_wait_p95_us", "max_queue_empty_fraction")
"""Each of the rank in which it is largest."""

OF_RUN = ("bound", "cause", *MAXIMA)
"""What the service judged of all ranks, as far as its last answer has it."""

NO_ANSWER, NOT_YET = "not judged: the service does not answer", "not judged yet"
"""Why there is no verdict where there were steps enough."""

NO_CAUSE = "none"
"""Of a verdict without a cause: a tracker keeps a word until another one replaces it."""

SCALARS = ("data_stall_fraction", "data_wait_us", "data_wait_p95_us", "steps_per_s", "queue_empty_fraction")
"""What trackers get of the newest minute."""

OF_STEPS = ("steps", *SCALARS)


def scalars(found: Mapping[str, Any]) -> dict[str, float]:
    """By name, without what is not known: of the rank's newest minute, and of the rank that loses most."""
    known = {name: found["recent"][name] for name in SCALARS} | {
        "max_data_stall_fraction": found["max_data_stall_fraction"]
    }
    return {name: value for name, value in known.items() if value is not None}


def words(found: Mapping[str, Any], *, is_last: bool = False) -> dict[str, str]:
    """The address of the run's page and the verdict, as far as they are known. ``is_last``: nothing follows, so why
    there is no verdict stands in its place, without the cause of an earlier one."""
    known = {"page": found["page"], "bound": found["bound"], "cause": found["cause"]}
    if is_last and known["bound"] is None:
        known["bound"] = found["not_judged"] or NOT_YET
    if known["bound"] is not None and known["cause"] is None:
        known["cause"] = NO_CAUSE
    return {name: word for name, word in known.items() if word is not None}


def nothing() -> dict[str, Any]:
    """What is known where nothing is."""
    unknown = dict.fromkeys(("loader", "clock", "page", "not_judged", *OF_RUN, *OF_STEPS))
    return {**unknown, "steps": 0, "recent": {**dict.fromkeys(OF_STEPS), "steps": 0}}


def read(path: str) -> dict[str, Any]:
    """``nothing()`` where there is no file yet."""
    with passing(OSError):
        found: dict[str, Any] = read_small(path)
        return found
    return nothing()


class FiguresFile:
    """Read again only where it was replaced: a program may ask in each step, and the collector writes a few times a
    second at most. Any thread."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._known: tuple[tuple[int, int], dict[str, Any]] | None = None

    def read(self) -> dict[str, Any]:
        """As :func:`read` does, and for the caller to keep."""
        try:
            state = os.stat(self._path)  # noqa: PTH116 – a third of the time of pathlib's
        except OSError as error:
            let_through(error)
            return nothing()
        # Looked at before it is read: a newer file under an older one's marks is read again the next time.
        marks, known = (state.st_mtime_ns, state.st_ino), self._known
        if known is None or known[0] != marks:
            self._known = known = marks, read(self._path)
        found = known[1]
        return {**found, "recent": {**found["recent"]}}
