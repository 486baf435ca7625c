"""When batches were requested and how long each was waited for, on a clock that stops in gaps and pauses."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from underfed.trainer.tuning.blocks import LEAST_STEPS, LEAST_UNITS, Block

SECOND = 1_000_000_000

ENOUGH = 20
"""Steps from which it is said how much of the time is waiting, as the service judges."""

RECENT = 200
"""Newest steps that are looked at for that."""

REMEMBERED = 4096
"""Requests."""

PAUSE_NS, PAUSE_STEPS = 2 * SECOND, 8
"""A step of this length, and of so many usual ones, is none: the program validates or saves."""


class Recent(NamedTuple):
    """The newest steps, and their mean length and wait."""

    steps: int
    step_ns: float
    wait_ns: float

    @property
    def stall_fraction(self) -> float:
        return self.wait_ns / self.step_ns


@dataclass(slots=True, eq=False)
class Pace:
    """Of the setting in use, since it was forgotten last."""

    requests_ns: list[int] = field(default_factory=list)
    waits_ns: list[int] = field(default_factory=list)
    """Of each step between two of them."""
    paused_ns: int = 0
    """In all, in which the program validated or saved within a pass."""
    _gap_ns: int = 0
    _is_after_gap: bool = False

    @property
    def steps(self) -> int:
        return max(0, len(self.requests_ns) - 1)

    @property
    def missing_steps(self) -> int:
        """Before ``recent`` is known."""
        return max(0, ENOUGH - self.steps)

    def error(self, steps: int) -> float | None:
        """Standard error of the mean of so many newest steps, as a share of it, by stretches: long steps may come in
        groups. ``None``: too few."""
        instants = self.requests_ns[-1 : -steps - 2 : -LEAST_STEPS]
        stretches = [after - before for after, before in pairwise(instants)]
        if len(stretches) < LEAST_UNITS:
            return None
        return statistics.stdev(stretches) / math.sqrt(len(stretches)) / max(1.0, statistics.fmean(stretches))

    def gap(self) -> None:
        """The next request does not end a step that counts."""
        self._is_after_gap = True

    def forget(self) -> None:
        self.requests_ns, self.waits_ns = [], []
        self._is_after_gap = False

    def begin_anew(self) -> None:
        """What was measured is forgotten, but the step that begins now is not."""
        self.requests_ns, self.waits_ns = self.requests_ns[-1:], []

    def note(self, now_ns: int, waited_ns: int, *, is_bounded: bool) -> int:
        """A request. ``is_bounded``: the oldest may be forgotten. Returns the length of the step that it ends; 0: none
        that counts."""
        instants = self.requests_ns
        at, took = now_ns - self._gap_ns, 0
        if instants:
            took = at - instants[-1]
            if self._is_after_gap:
                self._gap_ns += took
                self._is_after_gap = False
                return 0
            usual = (instants[-1] - instants[0]) / max(1, len(instants) - 1)
            if took > PAUSE_NS and len(instants) > 1 and took > PAUSE_STEPS * usual:
                self._gap_ns += took
                self.paused_ns += took
                return 0
            self.waits_ns.append(min(waited_ns, took))
        self._is_after_gap = False
        instants.append(at)
        if is_bounded and len(instants) > REMEMBERED:
            del instants[: REMEMBERED // 2], self.waits_ns[: REMEMBERED // 2]
        return took

    def recent(self) -> Recent | None:
        """``None``: too few to tell."""
        steps = min(RECENT, self.steps)
        if steps < ENOUGH:
            return None
        length = (self.requests_ns[-1] - self.requests_ns[-1 - steps]) / steps
        return Recent(steps, max(length, 1.0), sum(self.waits_ns[-steps:]) / steps)

    def newest_block(self, most_steps: int, unit: int, now_ns: int, first_step: int) -> Block:
        """Of the newest steps, at most so many. ``first_step``: the number of the step that begins now."""
        steps = min(self.steps, most_steps)
        instants = self.requests_ns[-steps - 1 :]
        block = Block(first_step - steps, now_ns - (instants[-1] - instants[0]), steps, now_ns, instants)
        block.close(unit)
        return block
