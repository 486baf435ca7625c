"""What ``--tune`` tried, as docs/wire.md has it: written by the training process, sent by the collector; and the
settings that the service proposes, on their way back.

Both are small files of a rank's directory, each replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from underfed.exchange.config import Value
from underfed.exchange.parts import read_small
from underfed.host.signal_handlers import let_through

FILE, PROPOSED = "tuning.json", "candidates.json"
MOST_TRIALS, MOST_BLOCKS = 100, 200

WAITING, SEARCHING, KEPT = "waiting", "searching", "kept"
LEFT_ALONE, REFUSED, FAILED = "left_alone", "refused", "failed"
"""Waits for candidates, or for a gain that is worth trials; a search goes on; it ended, and another setting stays, or
the one before; the loader cannot be switched; an error of ours."""


def to_write(lines: Sequence[str], where: str = "") -> str:
    """A sentence of the terminal. ``where``: of the loader's constructor, with what goes before it."""
    return f"--tune, to write into the script{where}: {' '.join(lines)}"


ENDED_WITHIN = "--tune: the program ended within its trials, so no other setting was kept"
"""A sentence of the terminal."""


def left_as_it_is(reason: str) -> str:
    """A sentence of the terminal."""
    return f"--tune leaves the loader as it is: {reason}"


@dataclass(frozen=True, slots=True)
class TrialBlock:
    """Consecutive steps under one setting, its start-up included."""

    first_step_index: int
    steps: int
    start_us: int
    end_us: int


@dataclass(frozen=True, slots=True)
class TrialFacts:
    search: int
    number: int
    """Within its search; 0: the setting that the search began with."""
    settings: dict[str, Value]
    steps: int
    """Measured ones."""
    kept: bool
    predicted_speedup: float | None = None
    predicted_low: float | None = None
    predicted_high: float | None = None
    steps_per_s: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    blocks: list[TrialBlock] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TuningFacts:
    loader: str
    status: str
    began_with: dict[str, Value]
    reason: str | None = None
    why_no_workers: str | None = None
    """The data set is loaded without workers, and what speaks against giving it some."""
    kept: dict[str, Value] | None = None
    kept_from_step: int | None = None
    speedup: float | None = None
    """What is kept against ``began_with``, as measured."""
    low: float | None = None
    high: float | None = None
    trial_steps: int = 0
    trial_us: int = 0
    gained_us: int | None = None
    """Since something is kept; ``None``: not measured, or its interval includes 0."""
    gained_low_us: int | None = None
    gained_high_us: int | None = None
    lost_us: int = 0
    searches: int = 0
    lines: list[str] = field(default_factory=list)
    """To write into the script."""
    trials: list[TrialFacts] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Proposed:
    """Settings for one loader that may be faster than the ones it was seen with, the most promising first."""

    settings: Mapping[str, Value]
    """In use when they were computed."""
    candidates: Sequence[Mapping[str, Any]]
    why_none: str | None


def read_proposed(path: str, loader: str) -> Proposed | None:
    """For the loader of this name; ``None``: nothing was proposed yet, or it cannot be understood."""
    try:
        answered = read_small(path)
    except (OSError, ValueError) as error:
        let_through(error)
        return None
    for each in answered if isinstance(answered, list) else []:
        if isinstance(each, dict) and each.get("loader") == loader:
            found = each.get("candidates")
            candidates = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
            settings, why = each.get("settings"), each.get("why_none")
            known = settings if isinstance(settings, dict) else {}
            return Proposed(known, candidates, why if isinstance(why, str) else None)
    return None
