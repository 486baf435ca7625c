"""The form in which a cause is declared: one file in ``causes/`` for each, with one ``CAUSE``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from underfed_server.diagnosis.examination import Examination
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


def _no_signals(_examined: Examination, _is_found: bool) -> Iterable[Signal]:
    return ()


@dataclass(frozen=True, slots=True)
class Cause:
    """Its name is that of its file."""

    label: str
    """What people read, in the page and the terminal."""
    about: str
    """Its line in docs/causes.md."""
    find: Callable[[Examination], Found | None]
    """``None``: the run does not have it."""
    cured_by: tuple[ChangeName, ...]
    signals: Callable[[Examination, bool], Iterable[Signal]] = _no_signals
    """Its rows of the table "why we say so", for an examination and whether the cause was found."""
    turn: Literal["first", "usual", "last"] = "usual"
    """When it takes its share of the loading: what names a reason comes before what says how much is loaded at once."""
    is_of_loading: bool = False
    """It explains a share of the loading by itself. What these leave goes to the number of workers and the CPU."""
    is_of_copy: bool = False
    """It costs copy time, which comes on top of the wait for data, and explains a transfer-bound run."""
    at_any_bound: bool = False
    """It is reported of every run, whatever it costs now: the run will fail, or trains on the same data twice."""
    shared: Shared | None = None
    """``None``: what one run does about it helps no other."""
