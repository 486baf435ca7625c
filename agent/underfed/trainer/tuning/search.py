"""Which setting is tried next, and which stays: a race, by the mean step of blocks. Knows neither loader nor clock.

First each candidate that the steps suffice for has one block, those that take few steps to start first, so that many
are reached. Then the fastest and what may be as fast take turns, until one is shown to be faster. Of those that are
shown to be faster than what was in use the fastest stays, and of two that are as fast the cheaper one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from underfed.trainer.tuning.blocks import LEAST_UNITS, Block, Ratio, compare, least_steps, mean_ns, spread_of, unit_of
from underfed.trainer.tuning.loader_setting import LoaderSetting

WORTH = 1.02
"""A gain below this is a tie: the cheaper setting stays. Repeats of one measurement differ by as much."""

OBVIOUS = 1.5
"""A gain of this size is believed after one block: hosts change by less from one block to the next."""

MOST_BLOCKS = 4
"""Of each setting, and of the one in use as many before the search."""

FIRST_SHARE = 0.5
"""Of the steps at most go to the first blocks: the others are for what is not told apart by then."""

PICKED = 1.3
"""So many times as wide as that of 95 % is the interval by which the fastest of several has to be faster than what was
in use: 99 %, since of up to five that are as fast the luckiest is picked."""

LEAST_GAIN = 0.05
"""No trial where less can be gained: what trials cost is to stay far below what they bring."""

MOST_STALL = 0.99
"""Of a step that only waits: what instant data would gain is bounded by this."""

SLOWER = "slower by more than its noise"
NO_GAIN = "no gain that is larger than its noise"
TIE = "as fast: the cheaper one stays"
BEATEN = "slower than another candidate"
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
    def unit(self) -> int:
        """Steps of one measurement."""
        return unit_of(self.setting.num_workers)

    @property
    def least_steps(self) -> int:
        """Of one of its blocks."""
        return least_steps(self.setting.num_workers)

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
        """The fastest so far; once it is over, the one that stays."""
        self.most_steps = most_steps
        self.used_steps = 0
        self.is_over = False
        self._turn = start
        self._beside = start

    @property
    def left_steps(self) -> int:
        return self.most_steps - self.used_steps

    @property
    def current(self) -> Trial:
        """The one that is to be in use."""
        return self.best if self.is_over else self._turn

    @property
    def beside(self) -> Trial:
        """The one that it is compared with, and whose turn may be next."""
        return self.best if self.is_over else self._beside

    def begin(self) -> Trial:
        """The first candidate's turn, or the end."""
        self._next()
        return self.current

    def measured(self, block: Block, stall_fraction: float | None) -> Trial:
        """A block of the current one. ``stall_fraction``: of it; ``None``: no matter. Returns whose turn it is."""
        turn = self._turn
        turn.blocks.append(block)
        turn.open_block, turn.stall_fraction = None, stall_fraction
        self.used_steps += block.steps
        self._settle()
        self._next()
        return self.current

    def failed(self, reason: str) -> Trial:
        """The current one cannot be measured. Returns whose turn it is."""
        if self._turn is self.trials[0]:
            self.stop(reason)
            return self.current
        self._turn.reason = reason
        self._settle()
        self._next()
        return self.current

    def stop(self, reason: str) -> None:
        """Nothing more is measured."""
        for trial in self._waiting():
            trial.reason = reason
        self._end()

    def ratio(self) -> Ratio | None:
        """How many times as fast the best one is as that which the search began with."""
        return self._against_start(self.best)

    def block_steps(self, wanted: int, present: LoaderSetting) -> int:
        """Measured steps of the current one's next block, the switch from ``present`` off, in whole units; 0: too few.

        As many as are wanted and left, but in a first block not so many that others are not reached.
        """
        turn, left = self._turn, self.left_steps - _switch_steps(present, self._turn.setting)
        if not turn.blocks and (others := self._reachable(turn.setting, left - turn.least_steps)):
            share = round(FIRST_SHARE * self.left_steps) - _path_steps(turn.setting, others)
            wanted = min(wanted, share // (len(others) + 1))
        least = turn.unit if turn.blocks and present == turn.setting else turn.least_steps
        units = min(max(wanted, turn.least_steps), left) // turn.unit
        return units * turn.unit if units * turn.unit >= least else 0

    def is_obvious(self, block: Block) -> bool:
        """Whether the first steps of a first block tell it already."""
        if self._turn.blocks or len(block.unit_ns) < LEAST_UNITS:
            return False
        ratio = compare(self.best.blocks, [block], self._spread)
        return ratio is not None and (ratio.high < 1 / OBVIOUS or ratio.low > OBVIOUS)

    # What is known

    @property
    def _spread(self) -> float:
        return spread_of([trial.blocks for trial in self.trials])

    def _against_start(self, trial: Trial) -> Ratio | None:
        return compare(self.trials[0].blocks, trial.blocks, self._spread)

    def _live(self) -> list[Trial]:
        return [trial for trial in self.trials if trial.blocks and trial.reason is None]

    def _settle(self) -> None:
        """The fastest leads; what is shown to be slower, or not to be worth its cost, is measured no more."""
        live = self._live()
        self.best = best = min(live, key=_mean, default=self.trials[0])
        for rival in live:
            if rival is best:
                continue
            if rival is self.trials[0]:
                rival.reason = BEATEN if self._is_shown(best) else None
            elif (ratio := compare(best.blocks, rival.blocks, self._spread)) is not None:
                rival.reason = self._why_not(rival, ratio)

    def _is_shown(self, trial: Trial) -> bool:
        """Whether it is faster than what the search began with: by two blocks of each, or by far."""
        ratio, rounds = self._against_start(trial), self._rounds(trial, self.trials[0])
        if ratio is None or (rounds < 2 and ratio.speedup < OBVIOUS):
            return False
        return _surely(ratio) > (1.0 if _is_cheaper(trial, self.trials[0]) else WORTH)

    def _why_not(self, rival: Trial, ratio: Ratio) -> str | None:
        """A candidate cannot be worth more than the best one; ``None``: it may be. ``ratio``: how many times as fast as
        that it is."""
        if _is_cheaper(rival, self.best):
            return SLOWER if ratio.high < (1.0 if self.best is self.trials[0] else 1 / WORTH) else None
        if ratio.high >= WORTH:
            return None
        return SLOWER if ratio.high < 1.0 else TIE

    def _rounds(self, one: Trial, other: Trial) -> int:
        return min(len(one.blocks), len(other.blocks))

    # Whose turn it is

    def _next(self) -> None:
        present = self._turn.setting
        self._leave_out()
        reachable = self._reachable(present, self.left_steps)
        if reachable:
            self._turn, self._beside = reachable[0], self.best
        elif (pair := self._pair(present)) is not None:
            self._turn, self._beside = pair
        else:
            self._end()

    def _waiting(self) -> list[Trial]:
        return [trial for trial in self.trials if not trial.blocks and trial.reason is None]

    def _leave_out(self) -> None:
        """Where hardly any time is waiting, only what is cheaper is still of use."""
        stall = self.best.stall_fraction
        for trial in self._waiting():
            if stall is not None and stall < LEAST_GAIN and not _is_cheaper(trial, self.best):
                trial.reason = LITTLE_LEFT

    def _reachable(self, present: LoaderSetting, left_steps: int) -> list[Trial]:
        """Candidates without a block: the most promising that the steps suffice for, in the order of their turns."""
        chosen: list[Trial] = []
        for trial in self._waiting():
            if trial is self._turn and present is trial.setting:
                continue
            path = _by_start([*chosen, trial])
            if _path_steps(present, path) + sum(each.least_steps for each in path) <= left_steps:
                chosen = path
        return chosen

    def _pair(self, present: LoaderSetting) -> tuple[Trial, Trial] | None:
        """Of the best and what may yet be better, or is not yet shown to be worse: the one with fewer blocks, and the
        other. ``None``: all is told apart, or cannot be."""
        best, start = self.best, self.trials[0]
        rivals = [
            (ratio.high, trial)
            for trial in self._live()
            if trial is not best
            and self._rounds(best, trial) < MOST_BLOCKS
            and (ratio := compare(best.blocks, trial.blocks, self._spread)) is not None
        ]
        if not rivals:
            return None
        rival = start if start in [trial for _, trial in rivals] else max(rivals, key=lambda each: each[0])[1]
        if start in (best, rival) and self._is_too_noisy(rival if best is start else best):
            for trial in self._live():
                trial.reason = TOO_NOISY if trial is not start else None
            return None
        pair = sorted((best, rival), key=lambda each: (len(each.blocks), each.setting != present))
        for turn, beside in (pair, pair[::-1]):
            least = turn.unit if present == turn.setting else _switch_steps(present, turn.setting) + turn.least_steps
            if len(turn.blocks) < MOST_BLOCKS and least <= self.left_steps:
                return turn, beside
        return None

    def _is_too_noisy(self, trial: Trial) -> bool:
        """Whether all that instant data would gain were still within the interval after all blocks that there may be,
        which narrows with the square root of their number."""
        start = self.trials[0]
        ratio, rounds, stall = self._against_start(trial), self._rounds(trial, start), start.stall_fraction
        if ratio is None or rounds < 2 or stall is None:
            return False
        most_gain = -math.log(1 - min(stall, MOST_STALL))
        return math.log(ratio.high / ratio.speedup) * math.sqrt(rounds / MOST_BLOCKS) > most_gain

    # The end

    def _end(self) -> None:
        """What stays was measured to be faster than what was in use: the cheapest of those that are as fast as the
        fastest."""
        self.is_over, start = True, self.trials[0]
        for trial in self._waiting():
            trial.reason = USED_UP
        shown = [trial for trial in self._live() if trial is not start and self._is_proved(trial)]
        if shown:
            fastest = min(map(_mean, shown))
            self.best = min(
                (each for each in shown if _mean(each) <= fastest * WORTH), key=lambda each: each.setting.cost
            )
        else:
            self.best = start
        for trial in self._live():
            if trial is not self.best:
                trial.reason = self._why_not_kept(trial)
        self.best.reason = None

    def _is_proved(self, trial: Trial) -> bool:
        ratio = self._against_start(trial)
        return (
            ratio is not None
            and _surely(ratio) > 1.0
            and (ratio.speedup >= WORTH or _is_cheaper(trial, self.trials[0]))
        )

    def _why_not_kept(self, trial: Trial) -> str:
        if trial is self.trials[0] or _mean(trial) > WORTH * _mean(self.best):
            return BEATEN
        if self.best is self.trials[0]:
            return UNPROVEN if _mean(trial) < _mean(self.best) else NO_GAIN
        return TIE if self._is_proved(trial) else UNPROVEN


def _is_cheaper(trial: Trial, than: Trial) -> bool:
    return trial.setting.cost < than.setting.cost


def _surely(ratio: Ratio) -> float:
    """The lower end for the fastest of several."""
    return ratio.speedup * math.pow(ratio.low / ratio.speedup, PICKED)


def _mean(trial: Trial) -> float:
    return mean_ns(trial.blocks) or math.inf


def _by_start(trials: Sequence[Trial]) -> list[Trial]:
    """What is loaded ahead is waited for at both switches, but once for the last."""
    return sorted(trials, key=lambda trial: (trial.setting.capacity, trial.setting.cost))


def _switch_steps(present: LoaderSetting, after: LoaderSetting) -> int:
    return start_steps(present, after) if present != after else 0


def _path_steps(present: LoaderSetting, trials: Sequence[Trial]) -> int:
    """Of the switches to one after another."""
    settings = [present, *(trial.setting for trial in trials)]
    return sum(_switch_steps(before, after) for before, after in pairwise(settings))
