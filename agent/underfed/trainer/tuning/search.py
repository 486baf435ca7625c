"""Which setting is tried next, and which stays: a race, by the mean step of blocks. Knows neither loader nor clock.

What was in use is measured before the search, and again between the others: the run would have had these steps anyway,
so they do not count. First each candidate that the steps suffice for has one block, those that take few steps to start
first, so that many are reached. Then the fastest and what was in use take turns until one is shown to be faster; then
the fastest and what may be as fast. Of those that are shown to be faster than what was in use the fastest stays, and of
several that are as fast the cheapest one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from underfed.trainer.tuning.blocks import (
    LEAST_UNITS,
    NORMAL,
    Block,
    Ratio,
    compare,
    differ,
    error_of,
    least_steps,
    mean_ns,
    spread_of,
    unit_of,
)
from underfed.trainer.tuning.loader_setting import LoaderSetting

WORTH = 1.02
"""A gain below this is a tie: the cheaper setting stays. Repeats of one measurement differ by as much."""

NEAR = 1.05
"""Of two that may be as fast by their noise and differ by less than this the cheaper setting stays, too: it is what can
be lost by that."""

OBVIOUS = 1.5
"""What is faster or slower by this, and by more than its noise, needs no full first block."""

LEAST_ROUNDS = 2
"""Blocks of a candidate and of what was in use, in turns, before it may stay: by one of each, another pace of the host
is taken for that of the setting."""

FREE_BLOCKS, LONGEST = 3, 8
"""Times as long as others is a block of what was in use, which costs nothing, and at most, where its steps differ most:
nothing is gained meanwhile."""

MOST_BLOCKS = 4
"""Of each setting, and of the one in use as many before the search."""

FIRST_SHARE = 0.5
"""Of the steps at most go to the first blocks: the others are for what is not distinguished by then."""

PICKED = (1.22, 1.35, 1.41, 1.46, 1.5)
"""So many times as wide as that of 95 % is the interval by which the fastest of one to five has to be faster than what
was in use: by chance the luckiest is picked of those that are as fast, and looked at again after each of its three
blocks (Bonferroni: the normal quantile of 0.025 / (3 x candidates), over 1.96)."""

LEAST_NOISE = 0.01
"""Standard error of a gain at least, as a share of it: steps that hardly differ while few are measured do not show that
the host stays as it is."""

LEAST_GAIN = 0.05
"""No trial where less can be gained: what trials cost is to stay far below what they bring."""

MOST_STALL = 0.99
"""Of a step that only waits: what instant data would gain is bounded by this."""

SLOWER = "slower by more than its noise"
NO_GAIN = "no gain that is larger than its noise"
TIE = "as fast: the cheaper one stays"
BEATEN = "slower than what stays"
USED_UP = "the steps for trials did not suffice for it"
LITTLE_LEFT = "less than 5 % was left to gain"
TOO_NOISY = "the noise of this host is larger than what could be gained"
UNPROVEN = "not shown to be faster than what was in use"

BY_MEASURING = (SLOWER, TIE)
"""Why one is measured no more: at the end, by all that was measured, there may be another reason."""


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
    cut_blocks: list[Block] = field(default_factory=list)
    """They ended before they were measured: only what they cost counts."""
    stall_fraction: float | None = None
    """Of its last block: how much of it was waiting."""
    turns: int = 0
    """Blocks that it had, those that count no more among them."""

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

    def __init__(
        self, start: Trial, candidates: Sequence[Candidate], most_steps: int, pass_steps: int | None = None
    ) -> None:
        """``start`` has a block of steps before the search. ``pass_steps``: of a pass; ``None``: not known."""
        self.trials = [start, *map(Trial, candidates)]
        self.best = start
        """The fastest so far; once it is over, the one that stays."""
        self.most_steps = most_steps
        self.used_steps = 0
        """Under others than the one that it began with."""
        self.is_over = False
        self.cut: list[Trial] = []
        """Candidates that trials may lose no more time for now: it goes on with them once they may."""
        self._pass_steps = pass_steps
        self._turn = start
        self._beside = start
        start.turns = len(start.blocks)

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

    def begin(self) -> None:
        """The first candidate's turn, or the end."""
        self._next()

    def measured(self, block: Block, stall_fraction: float | None) -> None:
        """A block of the current one. ``stall_fraction``: of it; ``None``: no matter."""
        turn = self._turn
        if turn is self.trials[0] and turn.turns == 1 and turn.blocks and differ(turn.blocks[0], block):
            self._begin_anew()
        turn.blocks.append(block)
        turn.turns += 1
        turn.open_block, turn.stall_fraction = None, stall_fraction
        self.use(block.steps)
        self._settle_and_turn()

    def use(self, steps: int) -> None:
        """The current one had so many. Those of what was in use are none of trials."""
        self.used_steps += steps if self._turn is not self.trials[0] else 0

    def are_used_up(self, steps: int) -> bool:
        """Whether the current one may have no more than so many."""
        return self._turn is not self.trials[0] and steps >= self.left_steps

    def may_have(self, steps: int) -> bool:
        """Whether the current one may have more than so many, and steps for a second block are left."""
        return self._turn is self.trials[0] or steps < self.left_steps - self._held_back([self._turn])

    def failed(self, reason: str) -> None:
        """The current one cannot be measured."""
        if self._turn is self.trials[0]:
            self.stop(reason)
        else:
            self._turn.reason = reason
            self._settle_and_turn()

    def put_off(self, reason: str) -> None:
        """The current candidate waits until the search goes on."""
        self._put_off(self._turn, reason)
        self._settle_and_turn()

    def cut_short(self, reason: str) -> None:
        """Nothing more is measured for now. What was measured stays, and counts if the search goes on."""
        for trial in self.trials[1:]:
            if trial.reason is None and trial not in self.cut:
                self._put_off(trial, reason)
        self._end()

    def _put_off(self, trial: Trial, reason: str) -> None:
        self.cut.append(trial)
        if not trial.blocks:
            trial.reason = reason

    def go_on(
        self, trials: Sequence[Trial], block: Block, why_not: Callable[[LoaderSetting], str | None] = lambda _: None
    ) -> None:
        """With these of the candidates that were cut. ``block``: the newest steps of what was in use. ``why_not``: why
        one cannot be tried by now."""
        start = self.trials[0]
        self.is_over, self._turn, self._beside = False, start, start
        for trial in trials:
            self.cut.remove(trial)
            trial.reason = why_not(trial.setting)
        if start.blocks and differ(start.blocks[-1], block):
            self._begin_anew()
        start.blocks.append(block)
        start.turns += 1
        self._settle_and_turn()

    def stop(self, reason: str) -> None:
        """Nothing more is measured."""
        for trial in self._waiting():
            trial.reason = reason
        self._end()

    def ratio(self) -> Ratio | None:
        """How many times as fast the best one is as that which the search began with."""
        return self.against_start(self.best)

    def against_start(self, trial: Trial) -> Ratio | None:
        """How many times as fast a trial is as what the search began with. ``None``: too few steps."""
        return compare(self.trials[0].blocks, trial.blocks, self._spread)

    @property
    def measured_candidates(self) -> int:
        return sum(1 for trial in self.trials[1:] if trial.blocks)

    def missing_steps(self, trials: Sequence[Trial]) -> int:
        """That would be needed beside those that there are until each of these had two blocks, whatever was in use
        before them. At least 1: they had none."""
        before = max((trial.setting for trial in self.trials if trial.blocks), key=lambda each: each.capacity)
        blocks = sum(self._steps(trial, trial.least_steps) for trial in trials)
        return max(1, _path_steps(before, trials) + blocks + self._held_back(trials) - self.left_steps)

    def block_steps(self, wanted: int, present: LoaderSetting) -> int:
        """Measured steps of the current one's next block, the switch from ``present`` off, in whole units; 0: too few.

        As many as are wanted and left, but in a first block not so many that others are not reached, nor that none is
        left for a second.
        """
        turn, wanted = self._turn, max(wanted, self._turn.least_steps)
        if turn is self.trials[0]:
            return math.ceil(self._steps_of_start(wanted) / turn.unit) * turn.unit
        left = self.left_steps - _switch_steps(present, turn.setting)
        if not turn.blocks:
            others = self._reachable(turn.setting, left - self._steps(turn, turn.least_steps))
            share = round(FIRST_SHARE * self.left_steps) - _path_steps(turn.setting, others)
            wanted = min(wanted, max(share // (len(others) + 1), turn.least_steps))
            left -= self._held_back([*others, turn])
        least = turn.unit if turn.blocks and present == turn.setting else turn.least_steps
        units = wanted // turn.unit
        while units * turn.unit >= least and self._steps(turn, units * turn.unit) > left:
            units -= 1
        return units * turn.unit if units * turn.unit >= least else 0

    def _steps_of_start(self, wanted: int) -> float:
        """As many of what was in use as would show that the fastest is faster, if that is as fast as it seems."""
        start, best, spread = self.trials[0], self.best, self._spread
        own, others, ratio = error_of(start.blocks, spread), error_of(best.blocks, spread), self.against_start(best)
        least = FREE_BLOCKS * wanted
        if best is start or own is None or others is None or ratio is None or ratio.speedup < WORTH:
            return least
        enough = (math.log(ratio.speedup) / (picked(self.measured_candidates) * NORMAL)) ** 2 - others**2
        more = (own**2 / enough - 1) * start.measured if enough > 0 else 0.0
        return min(LONGEST * wanted, max(least, more))

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

    def _live(self) -> list[Trial]:
        return [trial for trial in self._standing() if trial not in self.cut]

    def _standing(self) -> list[Trial]:
        """What was measured and may stay, that which was cut with it."""
        return [trial for trial in self.trials if trial.blocks and trial.reason is None]

    def _begin_anew(self) -> None:
        """The host is another than before the search, and nobody knows since when: what was measured does not count."""
        for trial in self.trials:
            trial.blocks.clear()
            trial.stall_fraction = None
            if trial.reason in (*BY_MEASURING, LITTLE_LEFT):
                trial.reason = None

    def _settle_and_turn(self) -> None:
        self._settle()
        self._next()

    def _settle(self) -> None:
        """The fastest leads; what is shown to be slower, or not to be worth its cost, is measured no more."""
        live = self._live()
        self.best = best = min(live, key=_mean, default=self.trials[0])
        for rival in live:
            if (
                rival not in (best, self.trials[0])
                and (ratio := compare(best.blocks, rival.blocks, self._spread)) is not None
            ):
                rival.reason = self._why_not(rival, ratio)

    def _is_shown(self, trial: Trial) -> bool:
        """Whether it is faster than what the search began with: by two blocks of each."""
        ratio = self.against_start(trial)
        if ratio is None or len(trial.blocks) < LEAST_ROUNDS or len(self.trials[0].blocks) < LEAST_ROUNDS:
            return False
        return surely(ratio, self.measured_candidates) > 1.0 and (
            ratio.speedup >= WORTH or _is_cheaper(trial, self.trials[0])
        )

    def _why_not(self, rival: Trial, ratio: Ratio) -> str | None:
        """A candidate cannot be worth more than the best one; ``None``: it may be. ``ratio``: how many times as fast as
        that it is."""
        if _is_cheaper(rival, self.best):
            return SLOWER if ratio.high < (1.0 if self.best is self.trials[0] else 1 / WORTH) else None
        if ratio.high < 1.0:
            return SLOWER
        return TIE if ratio.high < WORTH and not _is_predicted_faster(rival, self.best) else None

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
        return [trial for trial in self.trials[1:] if not trial.blocks and trial.reason is None]

    def _leave_out(self) -> None:
        """Where hardly any time is waiting, only what is cheaper is still of use, or what is predicted to be faster
        still: few steps show no rare long waits."""
        best, stall = self.best, self.best.stall_fraction
        if best is self.trials[0] or stall is None or stall >= LEAST_GAIN:
            return
        for trial in self._waiting():
            if not _is_cheaper(trial, self.best) and not _is_predicted_faster(trial, self.best):
                trial.reason = LITTLE_LEFT

    def _steps(self, trial: Trial, measured: int) -> int:
        """That so many measured ones take: each further pass begins with some that are not."""
        filling = trial.setting.capacity + 1
        if self._pass_steps is None:
            return measured
        return measured + math.ceil(measured / max(1, self._pass_steps - filling)) * filling

    def _next_block(self, trial: Trial, present: LoaderSetting) -> int:
        """Steps of the shortest block that it may have next."""
        if present == trial.setting and trial.blocks:
            return self._steps(trial, trial.unit)
        return _switch_steps(present, trial.setting) + self._steps(trial, trial.least_steps)

    def _held_back(self, trials: Sequence[Trial]) -> int:
        """Steps for a second block of any of these, and of those that had one."""
        single = [trial for trial in self._live() if trial is not self.trials[0] and len(trial.blocks) < LEAST_ROUNDS]
        start = self.trials[0].setting
        return max((self._next_block(trial, start) for trial in [*trials, *single]), default=0)

    def _reachable(self, present: LoaderSetting, left_steps: int) -> list[Trial]:
        """Candidates without a block: the most promising that the steps suffice for, in the order of their turns."""
        chosen: list[Trial] = []
        for trial in self._waiting():
            if trial is self._turn and present is trial.setting:
                continue
            path = _by_start([*chosen, trial])
            blocks = sum(self._steps(each, each.least_steps) for each in path)
            if _path_steps(present, path) + blocks + self._held_back(path) <= left_steps:
                chosen = path
        return chosen

    def _pair(self, present: LoaderSetting) -> tuple[Trial, Trial] | None:
        """Of the best and what may yet be better, or is not yet shown to be worse: the one with fewer blocks, and the
        other. ``None``: all are distinguished, or cannot be."""
        best, start = self.best, self.trials[0]
        if best is not start and not self._is_shown(best):
            rival: Trial | None = start
        else:
            rivals = [
                (ratio.high, trial)
                for trial in self._live()
                if trial not in (best, start)
                and (ratio := compare(best.blocks, trial.blocks, self._spread)) is not None
                and self._can_go_on(trial, best, present)
            ]
            rival = max(rivals, key=lambda each: each[0])[1] if rivals else None
        if rival is None:
            return None
        if start in (best, rival) and self._is_too_noisy(rival if best is start else best):
            for trial in self._live():
                trial.reason = TOO_NOISY if trial is not start else None
            return None
        return self._can_go_on(rival, best, present)

    def _can_go_on(self, one: Trial, other: Trial, present: LoaderSetting) -> tuple[Trial, Trial] | None:
        """The one of two whose turn is next, and the other, as far as the steps suffice. What was in use first comes
        before its rival, so that each block is between two of its own."""
        start = self.trials[0]
        pair = sorted((one, other), key=lambda each: (each.turns, each is not start, each.setting != present))
        for turn, beside in (pair, pair[::-1]):
            if turn.turns >= MOST_BLOCKS:
                continue
            if turn is start and len(beside.blocks) >= LEAST_ROUNDS:
                return turn, beside
            costs = self._next_block(beside, start.setting) if turn is start else self._next_block(turn, present)
            if costs <= self.left_steps:
                return turn, beside
        return None

    def _is_too_noisy(self, trial: Trial) -> bool:
        """Whether all that instant data would gain were still within its interval after all blocks that there may be,
        which narrows with the square root of their number."""
        error, stall, rounds = error_of(trial.blocks), self.trials[0].stall_fraction, len(trial.blocks)
        if error is None or rounds < LEAST_ROUNDS or stall is None:
            return False
        most_gain = -math.log(1 - min(stall, MOST_STALL))
        return picked(self.measured_candidates) * NORMAL * error * math.sqrt(rounds / MOST_BLOCKS) > most_gain

    # The end

    def _end(self) -> None:
        """What stays was measured to be faster than what was in use: the cheapest of those that are as fast as the
        fastest."""
        self.is_over, start = True, self.trials[0]
        for trial in self._waiting():
            trial.reason = USED_UP
        shown = [trial for trial in self._standing() if trial is not start and self._is_shown(trial)]
        if shown:
            fastest = min(shown, key=_mean)
            tied = [each for each in shown if self._are_as_fast(each, fastest)]
            # Few steps show no rare long waits: the prediction, which knows all loads, distinguishes those.
            tied = [each for each in tied if not any(_is_predicted_faster(other, each) for other in tied)]
            self.best = min(tied, key=lambda each: each.setting.cost)
        else:
            self.best = start
        for trial in self.trials:
            if trial.blocks and trial is not self.best and (trial.reason is None or trial.reason in BY_MEASURING):
                trial.reason = self._why_not_kept(trial)
        self.best.reason = None

    def _are_as_fast(self, trial: Trial, fastest: Trial) -> bool:
        if _mean(trial) <= WORTH * _mean(fastest):
            return True
        ratio = compare(fastest.blocks, trial.blocks, self._spread)
        return ratio is not None and ratio.high >= 1.0 and _mean(trial) <= NEAR * _mean(fastest)

    def _why_not_kept(self, trial: Trial) -> str:
        """By all that was measured."""
        best, start = self.best, self.trials[0]
        if best is start and _mean(trial) < _mean(start):
            return UNPROVEN
        if trial is start or _mean(trial) > NEAR * _mean(best):
            ratio = compare(best.blocks, trial.blocks, self._spread)
            return SLOWER if ratio is not None and ratio.high < 1.0 and trial is not start else BEATEN
        if best is start:
            return NO_GAIN
        return TIE if not _is_cheaper(trial, best) else UNPROVEN if not self._is_shown(trial) else BEATEN


def _is_cheaper(trial: Trial, than: Trial) -> bool:
    return trial.setting.cost < than.setting.cost


def _is_predicted_faster(trial: Trial, than: Trial) -> bool:
    one, other = trial.candidate.predicted, than.candidate.predicted
    return one is not None and other is not None and one >= (1 + LEAST_GAIN) * other


def picked(candidates: int) -> float:
    """The factor of ``PICKED`` for so many."""
    return PICKED[min(max(candidates, 1), len(PICKED)) - 1]


def surely(ratio: Ratio, candidates: int) -> float:
    """The lower end for the fastest of so many."""
    noise = math.hypot(math.log(ratio.speedup / ratio.low), NORMAL * LEAST_NOISE)
    return ratio.speedup * math.exp(-picked(candidates) * noise)


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
