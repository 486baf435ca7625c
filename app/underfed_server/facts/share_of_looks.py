"""What share of all looks found something, and how well that share is known.

Looks of one burst may all find the same call, so they tell less than their number. They are counted in groups of
bursts, which know nothing of each other: how much a share differs between groups is how well it is known (the variance
of a ratio with bursts as clusters; W. G. Cochran, Sampling Techniques, 3rd ed. 1977, section 6.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from underfed_server.ingest.wire import GROUPS
from underfed_server.store.reading.stacks import Looks

LEAST_GROUPS = 2

BIAS = 0.25
"""By how much looks may find a call too often or too rarely, of the square root of share × (1 - share): an eighth for a
half. The thread that looks must get a core and the interpreter lock, both of which code that waits or that gives the
lock back leaves to it sooner. Measured by ``python -m benchmarks.stacks.shares`` with three threads for each core."""

T_OF_95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)
"""Student's, by degrees of freedom from 1 on: within so many standard errors is the true share in 95 of 100 cases."""

Shares = NDArray[np.float64]


@dataclass(frozen=True)
class Whole:
    """All looks that shares are of."""

    looks: Looks
    usual_effect: float
    """How many looks tell as much as one that was independent would: the mean of the stacks'."""

    @cached_property
    def seen(self) -> int:
        return int(self.looks.sum())

    def share(self, part: Looks) -> float:
        return float(part.sum() / self.seen)

    def margin(self, part: Looks) -> float | None:
        """Half of the interval that holds the true share in 95 of 100 cases: by chance, and by what looking itself
        distorts. ``None``: all looks came together."""
        return self.margins([part])[0]

    def margins(self, parts: Sequence[Looks]) -> list[float | None]:
        """Of each part as :meth:`margin`: a hundred take hardly longer than one."""
        chances = self._chances(parts)
        if chances is None:
            return [None] * len(parts)
        shares = self._shares(parts)
        found: list[float | None] = (chances + BIAS * np.sqrt(shares * (1 - shares))).tolist()
        return found

    def chance(self, part: Looks) -> float | None:
        """The margin by chance alone: of two runs that are looked at in the same way, the rest is in both.

        Agresti and Coull's, which is none of nothing for a share of 0 or 1, with as many looks as tell something.
        """
        chances = self._chances([part])
        return None if chances is None else float(chances[0])

    def _shares(self, parts: Sequence[Looks]) -> Shares:
        shares: Shares = _table_of(parts).sum(axis=1) / self.seen
        return shares

    def _chances(self, parts: Sequence[Looks]) -> Shares | None:
        groups = np.count_nonzero(self.looks)
        if groups < LEAST_GROUPS:
            return None
        errors, shares = T_OF_95[groups - 2], self._shares(parts)
        telling = self.seen / self._effects(parts, shares)
        likely = (shares * telling + errors**2 / 2) / (telling + errors**2)
        chances: Shares = errors * np.sqrt(likely * (1 - likely) / (telling + errors**2))
        return chances

    def _effects(self, parts: Sequence[Looks], shares: Shares) -> Shares:
        varies = (shares > 0) & (shares < 1)
        effects = np.full(len(shares), self.usual_effect)
        table, some = _table_of(parts)[varies], shares[varies]
        effects[varies] = np.maximum(1.0, _variance(table, self.looks) * self.seen / (some * (1 - some)))
        return effects


def whole_of(parts: Iterable[Looks]) -> Whole:
    """``parts``: each look in one of them. At least one look."""
    table = _table_of(list(parts))
    looks = table.sum(axis=0)
    shares = table.sum(axis=1) / looks.sum()
    chance = (shares * (1 - shares)).sum() / looks.sum()
    effect = float(_variance(table, looks).sum() / chance) if chance else 1.0
    return Whole(looks, max(1.0, effect))


def _table_of(parts: Sequence[Looks]) -> Looks:
    """``[part, group]``"""
    return np.array(parts).reshape(-1, GROUPS)


def _variance(table: Looks, looks: Looks) -> Shares:
    """Of the share of each row. 0 with less than two groups."""
    groups = np.count_nonzero(looks)
    if groups < LEAST_GROUPS:
        return np.zeros(len(table))
    share = table.sum(axis=-1, keepdims=True) / looks.sum()
    variance: Shares = ((table - share * looks) ** 2).sum(axis=-1) * groups / (groups - 1) / looks.sum() ** 2
    return variance
