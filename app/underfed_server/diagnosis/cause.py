"""The form in which a cause is declared: one file in ``causes/`` for each, with one ``CAUSE``.

Its name is that of its file; the first paragraph of its docstring is its line in docs/causes.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.measures import load_share
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Evidence, Signal
from underfed_server.names import ChangeName


class Found(NamedTuple):
    """A cause in a run. ``cost_fraction``: the share of step time that goes away with it, at most its part of the
    wait.
    """

    cost_fraction: float
    sentence: str
    evidence: Sequence[Evidence]


class Shared(NamedTuple):
    """How runs can have the cause in common."""

    resource: Literal["mount", "cores", "memory"]
    sentence: str
    """``"wait for storage at"``: said of several runs, before the name of the mount or host."""


ReadSignal = Callable[[Examination, bool], Signal | None]
"""A row of the table "why we say so", for an examination and whether the cause was found; ``None``: no such row."""


@dataclass(frozen=True, slots=True)
class Cause:
    label: str
    """What people read, in the page and the terminal."""
    find: Callable[[Examination], Found | None]
    """``None``: the run does not have it."""
    cured_by: tuple[ChangeName, ...]
    signals: tuple[ReadSignal, ...] = ()
    turn: Literal["first", "usual", "last"] = "usual"
    """When it takes its share of loading: causes that name a reason first, how much is loaded at once last."""
    is_of_loading: bool = False
    """It explains a share of the loading by itself. What these leave goes to the number of workers and the CPU."""
    is_of_queue: bool = False
    """It is why loading waits for a core, with which others that fill the cores are not charged then."""
    is_of_copy: bool = False
    """It costs copy time, which comes on top of the wait for data, and explains a transfer-bound run."""
    at_any_bound: bool = False
    """It is reported of every run, whatever it costs now: the run will fail, or trains on the same data twice."""
    shared: Shared | None = None
    """``None``: what one run does about it helps no other."""


def signal(name: str, measured: Evidence, healthy: str, reading: str, says: str) -> Signal:
    """``says``: the reading in two or three words, where it is a cause or a symptom."""
    words = {"ruled_out": "ruled out", "not_measured": "not measured"}.get(reading, says)
    return Signal.model_validate(
        {"signal": name, "measured": measured, "healthy": healthy, "reading": reading, "says": words}
    )


def share_below(
    limit: float, name: str, of: str, share: float | None, says: str, *, is_cause: bool = False,
    series: str | None = None,
) -> Signal:  # fmt: skip
    """A share that is healthy below ``limit``. ``is_cause``: the cause that the row is about was found."""
    is_bad = share is not None and share >= limit
    reading = "not_measured" if share is None else "ruled_out" if not is_bad else "cause" if is_cause else "symptom"
    measured = Evidence(what=of, value=share, unit="fraction", series=series)
    return signal(name, measured, f"under {limit * 100:.0f}%", reading, says)


def load_signal(name: str, column: str, limit: float, says: str) -> ReadSignal:
    """A row for the share of load time that a column of the batches takes."""

    def share(examined: Examination) -> float | None:
        return load_share(examined.rank, getattr(examined.rank.batches, column))

    return share_signal(name, share, limit, "of load time", says, series=column)


def has_workers(examined: Examination) -> bool:
    return examined.workers > 0


def share_signal(
    name: str, share: Callable[[Examination], float | None], limit: float = THRESHOLDS.minor_cost_fraction,
    of: str = "of step time", says: str = "some wait", *, series: str | None = None,
    where: Callable[[Examination], bool] | None = None,
) -> ReadSignal:  # fmt: skip
    """A row for a share that is healthy below ``limit``, in runs for which ``where`` holds.

    ``says``: the reading from the limit on; that of a cause that was found is its label.
    """

    def read(examined: Examination, is_found: bool) -> Signal | None:
        if where is not None and not where(examined):
            return None
        return share_below(limit, name, of, share(examined), says, is_cause=is_found, series=series)

    return read
