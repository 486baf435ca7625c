"""How much time trials may lose, and have lost: against what their steps would have taken under the setting in use.

A known number of steps bounds trials well where passes are long. Where they are short each of them starts workers, so a
few steps may take far longer than usual.
"""

from __future__ import annotations

from dataclasses import dataclass, field
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


ONCE_MORE = 2.0
"""Times as much as a turn had lost when it was cut short it is expected to lose the next time: nobody knows how much of
it was to come."""

MOST_DIGITS = 6


def told_apart(one: float, other: float) -> tuple[str, str]:
    """With as many digits as two different numbers need to be read as different."""
    digits = next((each for each in range(1, MOST_DIGITS) if round(one, each) != round(other, each)), MOST_DIGITS)
    return f"{one:.{digits}f}", f"{other:.{digits}f}"


class Rest(NamedTuple):
    """What is known to be left of the run."""

    left_ns: float
    wait_ns: float
    """Of it, under the setting in use."""

    @property
    def limit_ns(self) -> float:
        return MOST_LOST * self.left_ns + MOST_STAKED * self.wait_ns

    def why_exceeded(self, lost: str, lost_ns: float) -> str:
        """``lost``: a sentence with a place for so many seconds, more than the limit."""
        left, wait = self.left_ns / SECOND, self.wait_ns / SECOND
        seconds, limit = told_apart(lost_ns / SECOND, self.limit_ns / SECOND)
        return (
            f"{lost.format(seconds)}, more than the {limit} s that they may: 2 % of the {left:.0f} s that are known to "
            f"be left of the run, and a tenth of the {wait:.0f} s that it would wait in these"
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
    _turn_lost_ns: float = 0.0
    """Before the turn of the candidate that is measured."""
    _cut_ns: dict[LoaderSetting, float] = field(default_factory=dict)
    """What was lost by a turn that was cut short."""

    def begin(self, now_ns: int, first_step: int, usual_ns: float, rest: Rest | None) -> None:
        self.rest = rest
        self._began_ns, self._first_step, self._usual_ns, self._outside_ns = now_ns, first_step, usual_ns, 0

    def end(self, now_ns: int, first_step: int) -> None:
        self._lost_ns = self.lost_by(now_ns, first_step)
        self.rest = None

    def widen(self, rest: Rest | None) -> None:
        """More of the run is known while the search goes on."""
        if rest is None or self.rest is None or rest.limit_ns > self.rest.limit_ns:
            self.rest = rest

    def turn_began(self, now_ns: int, first_step: int) -> None:
        self._turn_lost_ns = self.lost_by(now_ns, first_step)

    def turn_was_cut(self, setting: LoaderSetting, now_ns: int, first_step: int) -> None:
        self._cut_ns[setting] = self.lost_by(now_ns, first_step) - self._turn_lost_ns

    def pass_ended(self, took_ns: int) -> None:
        self._end_ns = took_ns

    def pass_began(self, now_ns: int, last_ns: int) -> None:
        """``last_ns``: the last request of the pass before."""
        self._outside_ns += max(0, now_ns - last_ns - self._end_ns)
        self._end_ns = 0

    def why_no_trial(
        self, setting: LoaderSetting, starts: int, start_ns: int, rest: Rest | None, lost_ns: float | None = None
    ) -> str | None:
        """Of so many starts of its workers, of which one was seen to take ``start_ns``; ``None``: it may be.
        ``lost_ns``: by now; ``None``: by the searches before."""
        lost_ns = self._lost_ns if lost_ns is None else lost_ns
        of_starts = starts * max(start_ns, setting.num_workers * FORKED_NS)
        expected_ns = lost_ns + max(of_starts, ONCE_MORE * self._cut_ns.get(setting, 0.0))
        if rest is None or expected_ns <= rest.limit_ns:
            return None
        count = f"{starts} starts" if starts > 1 else "a start"
        so_far = f" and the {lost_ns / SECOND:.1f} s that they had lost before" if lost_ns else ""
        return rest.why_exceeded(f"trials would lose {{}} s, by {count} of workers{so_far}", expected_ns)

    def why_no_further(self, now_ns: int, first_step: int) -> str | None:
        """The search has lost what it may; ``None``: it may go on."""
        lost_ns = self.lost_by(now_ns, first_step)
        if self.rest is None or lost_ns <= self.rest.limit_ns:
            return None
        return self.rest.why_exceeded("trials had lost {} s", lost_ns)

    def lost_by(self, now_ns: int, first_step: int) -> float:
        """By all searches."""
        took_ns = now_ns - self._began_ns - self._outside_ns
        return self._lost_ns + max(0.0, took_ns - (first_step - self._first_step) * self._usual_ns)


def starts_of(setting: LoaderSetting, block_steps: int, pass_steps: int | None) -> int:
    """Of its workers, in a block of so many measured steps: at the switch, and in each further pass that it takes."""
    if not setting.num_workers:
        return 0
    if pass_steps is None or setting.persistent_workers:
        return 1
    return ceil(block_steps / max(LEAST_UNIT, pass_steps - setting.capacity))
