"""Which setting is tried next, and which stays, by the mean step of blocks that take turns. Knows neither loader nor
clock.

The setting in use is compared with one candidate after another. A candidate that is faster by more than the noise takes
its place; of two that are as fast the cheaper one stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from underfed.trainer.tuning.blocks import Block, Ratio, compare
from underfed.trainer.tuning.loader_setting import LoaderSetting

WORTH = 1.02
"""A gain below this is a tie: the cheaper setting stays. Repeats of one measurement differ by as much."""

OBVIOUS = 1.5
"""A gain of this size is believed after one block: hosts change by less from one block to the next."""

MOST_BLOCKS = 4
"""Of each of two settings in their comparison."""

SLOWER = "slower by more than its noise"
NO_GAIN = "no gain that is larger than its noise"
TIE = "as fast: the cheaper one stays"
BEATEN = "slower than a later candidate"
USED_UP = "the steps for trials were used up"
LITTLE_LEFT = "less than 5 % was left to gain"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A setting that may be faster. The prediction: times as fast as what was in use; ``None``: there is none."""

    setting: LoaderSetting
    predicted: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(slots=True, eq=False)
class Trial:
    candidate: Candidate
    blocks: list[Block] = field(default_factory=list)
    reason: str | None = None
    """Why it does not stay, or was not measured."""
    open_block: Block | None = None
    """It is being measured."""
    stall_fraction: float | None = None
    """Of its last block: how much of it was waiting."""

    @property
    def setting(self) -> LoaderSetting:
        return self.candidate.setting

    @property
    def measured(self) -> int:
        return sum(block.measured for block in self.blocks)


class Search:
    """Trial 0 is the setting that it began with."""

    def __init__(self, start: Trial, candidates: Sequence[Candidate], most_steps: int) -> None:
        self.trials = [start, *map(Trial, candidates)]
        self.best = start
        self.most_steps = most_steps
        self.used_steps = 0
        self.is_over = False
        self._waiting = self.trials[1:]
        self._challenger: Trial | None = None
        self._turn = start

    @property
    def current(self) -> Trial:
        """The one that is to be in use."""
        return self.best if self.is_over else self._turn

    def begin(self) -> Trial:
        """The first candidate's turn, or the end."""
        self._next()
        return self.current

    def measured(self, block: Block, stall_fraction: float) -> Trial:
        """A block of the current one, in which so much was waiting. Returns whose turn it is."""
        self._turn.blocks.append(block)
        self._turn.open_block = None
        self._turn.stall_fraction = stall_fraction
        self.used_steps += block.steps
        challenger = self._challenger
        if challenger is None:
            return self.current
        decision = self._decide(challenger)
        if decision is None:
            self._turn = self.best if self._turn is challenger else challenger
        else:
            if decision:
                self.best.reason = BEATEN if challenger.setting.cost > self.best.setting.cost else TIE
                self.best = challenger
            self._next()
        return self.current

    def failed(self, reason: str) -> Trial:
        """The current one cannot be measured. Returns whose turn it is."""
        if self._challenger is not None and self._turn is self._challenger:
            self._challenger.reason = reason
        self._next()
        return self.current

    def stop(self, reason: str) -> None:
        """Nothing more is measured."""
        for trial in (self._challenger, *self._waiting):
            if trial is not None and trial is not self.best and trial.reason is None:
                trial.reason = reason
        self._challenger, self._waiting = None, []
        self.is_over = True

    def ratio(self) -> Ratio | None:
        """How many times as fast the best one is as that which the search began with."""
        return compare(self.trials[0].blocks, self.best.blocks)

    def _next(self) -> None:
        self._challenger, stall = None, self.best.stall_fraction
        while self._waiting and self._challenger is None:
            trial = self._waiting.pop(0)
            is_cheaper = trial.setting.cost < self.best.setting.cost
            if self.used_steps >= self.most_steps:
                trial.reason = USED_UP
            elif trial.setting in [each.setting for each in self.trials if each.blocks]:
                trial.reason = TIE
            elif stall is not None and stall < LEAST_GAIN and not is_cheaper:
                trial.reason = LITTLE_LEFT
            elif trial.reason is None:
                self._challenger = trial
        if self._challenger is None:
            self.is_over = True
        else:
            self._turn = self._challenger

    def _decide(self, challenger: Trial) -> bool | None:
        """Whether it takes the best one's place; ``None``: not known yet."""
        rounds = min(len(challenger.blocks), len(self.best.blocks))
        is_last = rounds >= MOST_BLOCKS or self.used_steps >= self.most_steps
        ratio = compare(self.best.blocks[-MOST_BLOCKS:], challenger.blocks)
        is_cheaper = challenger.setting.cost < self.best.setting.cost
        if ratio is None:
            if is_last:
                challenger.reason = USED_UP
            return False if is_last else None
        if rounds >= 2 or ratio.speedup >= OBVIOUS or is_last:
            if ratio.low > WORTH or (is_cheaper and ratio.low > 1 / WORTH):
                return True
            if is_last and ratio.low > 1.0:
                return True
        worst = 1 / WORTH if is_cheaper else 1.0
        if ratio.high < worst or (ratio.high < WORTH and not is_cheaper and (rounds >= 2 or is_last)):
            challenger.reason = SLOWER if ratio.high < 1.0 else TIE
            return False
        if is_last:
            challenger.reason = NO_GAIN
            return False
        return None


LEAST_GAIN = 0.05
"""No trial where less can be gained: what trials cost is to stay far below what they bring."""
