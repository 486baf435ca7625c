"""How much time trials may lose, and have lost: against what their steps would have taken under the setting in use.

A known number of steps bounds trials well where passes are long. Where they are short each of them starts workers, so a
few steps may take far longer than usual.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from underfed.trainer.tuning.blocks import LEAST_UNIT
from underfed.trainer.tuning.loader_setting import LoaderSetting

SECOND = 1_000_000_000

MOST_LOST = 0.02
"""Of what is known to be left of the run, which is as long as it has taken: so 1 % of both."""

MOST_STAKED = 0.1
"""Of the wait in that, which is gained at most: the more there may be to gain, the more may be lost."""

FORKED_NS = 50_000_000
"""A forked worker is taken to cost at least so much, from its start to its end: 60 to 100 ms where other processes use
all cores."""


class Rest(NamedTuple):
    """What is known to be left of the run."""

    left_ns: float
    wait_ns: float
    """Of it, under the setting in use."""

    @property
    def limit_ns(self) -> float:
        return MOST_LOST * self.left_ns + MOST_STAKED * self.wait_ns

    def __str__(self) -> str:
        left, wait = self.left_ns / SECOND, self.wait_ns / SECOND
        return (
            f"more than the {self.limit_ns / SECOND:.1f} s that they may: 2 % of the {left:.0f} s that are known to be "
            f"left of the run, and a tenth of the {wait:.0f} s that it would wait in these"
        )


@dataclass(slots=True, eq=False)
class Allowance:
    """All searches of a run together. Instants are of a clock that stops where the program pauses."""

    rest: Rest | None = None
    """As the search began; ``None``: there is no limit."""
    _lost_ns: float = 0.0
    """By the searches before."""
    _began_ns: int = 0
    _first_step: int = 0
    _usual_ns: float = 0.0
    """Of a step, with its part of what a pass costs."""
    _outside_ns: int = 0
    """Since the search began: what the program did between its passes."""
    _end_ns: int = 0

    def begin(self, now_ns: int, first_step: int, usual_ns: float, rest: Rest | None) -> None:
        self.rest = rest
        self._began_ns, self._first_step, self._usual_ns, self._outside_ns = now_ns, first_step, usual_ns, 0

    def end(self, now_ns: int, first_step: int) -> None:
        self._lost_ns = self._lost_by(now_ns, first_step)
        self.rest = None

    def pass_ended(self, took_ns: int) -> None:
        self._end_ns = took_ns

    def pass_began(self, now_ns: int, last_ns: int) -> None:
        """``last_ns``: the last request of the pass before."""
        self._outside_ns += max(0, now_ns - last_ns - self._end_ns)
        self._end_ns = 0

    def why_no_trial(self, starts: int, workers: int, start_ns: int, rest: Rest | None) -> str | None:
        """Of so many starts of so many workers, of which one was seen to take ``start_ns``; ``None``: it may be."""
        expected_ns = self._lost_ns + starts * max(start_ns, workers * FORKED_NS)
        if rest is None or expected_ns <= rest.limit_ns:
            return None
        count = f"{starts} starts" if starts > 1 else "a start"
        return f"trials would lose {expected_ns / SECOND:.1f} s, by {count} of workers, {rest}"

    def why_no_further(self, now_ns: int, first_step: int) -> str | None:
        """The search has lost what it may; ``None``: it may go on."""
        lost_ns = self._lost_by(now_ns, first_step)
        if self.rest is None or lost_ns <= self.rest.limit_ns:
            return None
        return f"trials had lost {lost_ns / SECOND:.1f} s, {self.rest}"

    def _lost_by(self, now_ns: int, first_step: int) -> float:
        took_ns = now_ns - self._began_ns - self._outside_ns
        return self._lost_ns + max(0.0, took_ns - (first_step - self._first_step) * self._usual_ns)


def starts_of(setting: LoaderSetting, block_steps: int, pass_steps: int | None) -> int:
    """Of its workers, in a block of so many measured steps: at the switch, and in each further pass that it takes."""
    if not setting.num_workers:
        return 0
    if pass_steps is None or setting.persistent_workers:
        return 1
    return ceil(block_steps / max(LEAST_UNIT, pass_steps - setting.capacity))
