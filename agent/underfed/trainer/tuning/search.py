"""Which setting is tried next, and which stays, by the mean step of blocks that take turns. Knows neither loader nor
clock.

The setting in use is compared with one candidate after another. A candidate that is faster by more than the noise takes
its place; of two that are as fast the cheaper one stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from underfed.trainer.tuning.blocks import LEAST_UNITS, Block, Ratio, compare, unit_of
from underfed.trainer.tuning.loader_setting import LoaderSetting

WORTH = 1.02
"""A gain below this is a tie: the cheaper setting stays. Repeats of one measurement differ by as much."""

OBVIOUS = 1.5
"""A gain of this size is believed after one block: hosts change by less from one block to the next."""

MOST_BLOCKS = 4
"""Of each of two settings in their comparison."""

LEAST_GAIN = 0.05
"""No trial where less can be gained: what trials cost is to stay far below what they bring."""

MOST_STALL = 0.99
"""Of a step that only waits: what instant data would gain is bounded by this."""

SLOWER = "slower by more than its noise"
NO_GAIN = "no gain that is larger than its noise"
TIE = "as fast: the cheaper one stays"
BEATEN = "slower than a later candidate"
USED_UP = "the steps for trials were used up"
LITTLE_LEFT = "less than 5 % was left to gain"
TOO_NOISY = "the noise of this host is larger than what could be gained"
UNPROVEN = "not shown to be faster than what was in use"


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


def start_steps(before: LoaderSetting, after: LoaderSetting) -> int:
    """Steps of a switch: what the one before had loaded ahead is handed out, then what the next one loads ahead."""
    return before.capacity + after.capacity + 1


class Search:
    """Trial 0 is the setting that it began with. No block is begun that the steps left would not suffice for."""

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
    def unit(self) -> int:
        """Steps of one measurement, the same for all."""
        return unit_of(max(trial.setting.num_workers for trial in self.trials))

    @property
    def left_steps(self) -> int:
        return self.most_steps - self.used_steps

    @property
    def current(self) -> Trial:
        """The one that is to be in use."""
        return self.best if self.is_over else self._turn

    def begin(self) -> Trial:
        """The first candidate's turn, or the end."""
        self._next()
        return self.current

    def measured(self, block: Block, stall_fraction: float | None) -> Trial:
        """A block of the current one. ``stall_fraction``: of it; ``None``: no matter. Returns whose turn it is."""
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
        self._end()

    def ratio(self) -> Ratio | None:
        """How many times as fast the best one is as that which the search began with."""
        return compare(self.trials[0].blocks, self.best.blocks)

    def block_steps(self, wanted: int, present: LoaderSetting) -> int:
        """Measured steps of the current one's next block: as many as are wanted and left, the switch from ``present``
        off, in whole units; 0: too few."""
        left = self.left_steps - (start_steps(present, self._turn.setting) if present != self._turn.setting else 0)
        units = min(wanted, left) // self.unit
        return units * self.unit if units >= LEAST_UNITS else 0

    def _end(self) -> None:
        """What stays was measured to be faster than what was in use."""
        self.is_over = True
        start = self.trials[0]
        if self.best is not start and ((ratio := self.ratio()) is None or ratio.low <= 1.0):
            self.best.reason, start.reason = UNPROVEN, None
            self.best = start

    def _next(self) -> None:
        self._challenger, stall = None, self.best.stall_fraction
        while self._waiting and self._challenger is None:
            trial = self._waiting.pop(0)
            is_cheaper = trial.setting.cost < self.best.setting.cost
            if self._is_used_up(trial):
                trial.reason = trial.reason or USED_UP
            elif trial.setting in [each.setting for each in self.trials if each.blocks]:
                trial.reason = TIE
            elif stall is not None and stall < LEAST_GAIN and not is_cheaper:
                trial.reason = LITTLE_LEFT
            elif trial.reason is None:
                self._challenger = trial
        if self._challenger is None:
            self._end()
        else:
            self._turn = self._challenger

    def _is_used_up(self, challenger: Trial) -> bool:
        """Whether the steps left are too few for one more block, and the switch to it."""
        return self.left_steps < start_steps(self.best.setting, challenger.setting) + LEAST_UNITS * self.unit

    def _decide(self, challenger: Trial) -> bool | None:
        """Whether it takes the best one's place; ``None``: not known yet."""
        rounds = min(len(challenger.blocks), len(self.best.blocks))
        is_last = rounds >= MOST_BLOCKS or self._is_used_up(challenger)
        ratio = compare(self.best.blocks[-MOST_BLOCKS:], challenger.blocks)
        if ratio is not None and self._is_faster(challenger, ratio, rounds, is_last=is_last):
            return True
        challenger.reason = self._why_not(challenger, ratio, rounds, is_last=is_last)
        return None if challenger.reason is None else False

    def _is_faster(self, challenger: Trial, ratio: Ratio, rounds: int, *, is_last: bool) -> bool:
        is_cheaper = challenger.setting.cost < self.best.setting.cost
        if rounds < 2 and ratio.speedup < OBVIOUS and not is_last:
            return False
        if ratio.low > WORTH or (is_cheaper and ratio.low > 1 / WORTH):
            return True
        return is_last and ratio.low > 1.0

    def _why_not(self, challenger: Trial, ratio: Ratio | None, rounds: int, *, is_last: bool) -> str | None:
        """It is not faster; ``None``: it may yet be."""
        if ratio is None:
            return USED_UP if is_last else None
        is_cheaper = challenger.setting.cost < self.best.setting.cost
        worst = 1 / WORTH if is_cheaper else 1.0
        if ratio.high < worst or (ratio.high < WORTH and not is_cheaper and (rounds >= 2 or is_last)):
            return SLOWER if ratio.high < 1.0 else TIE
        if is_last:
            return NO_GAIN
        return TOO_NOISY if rounds >= 2 and self._is_too_noisy(ratio, rounds) else None

    def _is_too_noisy(self, ratio: Ratio, rounds: int) -> bool:
        """Whether all that instant data would gain were still within the interval after all blocks that there may be,
        which narrows with the square root of their number."""
        stall = self.best.stall_fraction
        if stall is None:
            return False
        most_gain = -math.log(1 - min(stall, MOST_STALL))
        return math.log(ratio.high / ratio.speedup) * math.sqrt(rounds / MOST_BLOCKS) > most_gain
