"""What trials cost, and what was gained since, in time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from underfed.trainer.tuning.blocks import NORMAL, Block, compare, mean_ns, speed, spread_of
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.search import Search, picked

LEAST_PARTS = 4
"""Of the steps since something was kept: fewer do not tell how the host changes."""


class Gain(NamedTuple):
    """In nanoseconds, with its 95 % interval. All below 0: it was lost."""

    ns: float
    low_ns: float
    high_ns: float


@dataclass(slots=True)
class SinceKept:
    """The steps under what is kept and the edges of its passes, trials and gaps left out; and how much parts of the
    steps differ, each as long as a block: by that much a block of the setting before may be off, too."""

    part_steps: int = 1
    steps: int = 0
    ns: int = 0
    _open_steps: int = 0
    _open_ns: int = 0
    _parts: int = 0
    _mean: float = 0.0
    _squares: float = 0.0

    def add(self, step_ns: int) -> None:
        self.steps += 1
        self.ns += step_ns
        self._open_steps += 1
        self._open_ns += step_ns
        if self._open_steps >= self.part_steps:
            self._add_part(self._open_ns / self._open_steps)

    def add_edge(self, took_ns: int, steps: int = 0) -> None:
        """The beginning of a pass with its first steps, or its end."""
        self.steps += steps
        self.ns += took_ns

    def _add_part(self, mean: float) -> None:
        """Welford's, so that nothing is remembered of them."""
        self._open_steps = self._open_ns = 0
        self._parts += 1
        before = mean - self._mean
        self._mean += before / self._parts
        self._squares += before * (mean - self._mean)

    @property
    def spread(self) -> float | None:
        """Of parts, relative to their mean; ``None``: too few."""
        if self._parts < LEAST_PARTS or not self._mean:
            return None
        return math.sqrt(self._squares / (self._parts - 1)) / self._mean


def gained(searches: Sequence[Search], began_with: LoaderSetting, since: SinceKept) -> Gain | None:
    """The time that the steps since would have taken at the pace of all blocks of the setting that it began with, less
    what they took. ``None``: not measured, its interval includes 0, or the setting before became faster meanwhile."""
    before = _blocks_of(searches, began_with)
    mean, pace, spread = mean_ns(before), speed(before, _spread(searches)), since.spread
    if mean is None or pace is None or spread is None:
        return None
    # A host that is slower is so for many steps: a longer block shows no more of how it changes. And what is kept was
    # picked for being faster than just these blocks.
    blocks = max(1.0, sum(min(1.0, block.measured / since.part_steps) for block in before))
    width = picked(max(search.measured_candidates for search in searches)) * NORMAL
    factor = max(pace.high / pace.speedup, math.exp(width * spread / math.sqrt(blocks)))
    gain = Gain(*(since.steps * each - since.ns for each in (mean, mean / factor, mean * factor)))
    if gain.low_ns <= 0 <= gain.high_ns or (gain.ns > 0 and became_faster(searches, began_with)):
        return None
    return gain


def became_faster(searches: Sequence[Search], setting: LoaderSetting) -> bool:
    """By more than its noise, from the first half of its steps to the second: as with a cache that fills, it would have
    been faster still since, and nobody measured by how much."""
    units = [each for block in _blocks_of(searches, setting) for each in block.unit_ns]
    half = len(units) // 2
    sides = [Block(0, 0, unit_ns=part) for part in (units[:half], units[half:])]
    ratio = compare([sides[0]], [sides[1]])
    return ratio is not None and ratio.low > 1.0


def _blocks_of(searches: Sequence[Search], setting: LoaderSetting) -> list[Block]:
    """The oldest first."""
    trials = [trial for search in searches for trial in search.trials if trial.setting == setting]
    return sorted((block for trial in trials for block in trial.blocks), key=lambda block: block.start_ns)


def _spread(searches: Sequence[Search]) -> float:
    sides: list[Sequence[Block]] = [trial.blocks for search in searches for trial in search.trials]
    return spread_of(sides)
