"""The interval around a prediction: quantiles of how far observed speed-ups lay from predicted ones in the same regime.

A residual is the logarithm of observed over predicted. Those of ``residuals.json`` are of ``benchmarks/prediction``; a
host has its own as soon as runs on it carried advice. Where a group has few, those of the larger group count as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import get_args

import numpy as np

from underfed_server.advice.prediction.regime import Regime
from underfed_server.measurements import Column

TABLE = Path(__file__).with_name("residuals.json")

HELD = 0.90
"""Of observed values, the share that an interval holds."""

A_PIPELINE = 20
"""Residuals of each pipeline in each regime, evenly spaced: pipelines count alike, however often they were measured."""

AS_MANY = 8.0
"""As so many residuals of its own counts what a group takes from the larger one."""

WIDENED: Mapping[Regime, float] = {"to none": 1.5, "from none": 1.5}
"""By how much wider intervals have to be to hold as many of a pipeline that is not in the table, as each pipeline shows
by the table without it. In the other regimes they hold as many as they are."""

FEWEST_PROVEN = 8
"""Gains observed on a host from which they count."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Residuals and what each counts."""

    values: Column
    weights: Column

    def within(self, own: Sequence[float]) -> Sample:
        """``own`` residuals, and of this sample as much as counts like :data:`AS_MANY`."""
        lent = self.weights * (AS_MANY / float(np.sum(self.weights)))
        return Sample(np.append(self.values, own), np.append(lent, np.ones(len(own))))

    def ends(self, held: float = HELD) -> tuple[float, float]:
        """Between which the next residual lies in ``held`` of all cases: it is one more than those that are known.

        With fewer than that takes, the least and the greatest.
        """
        order = np.argsort(self.values, kind="stable")
        values, weights = self.values[order], self.weights[order]
        # A little more than that: sums of weights are rounded.
        beyond = (1 - held) / 2 * (float(np.sum(weights)) + 1) + 1e-9
        low, high = (
            max(0, int(np.searchsorted(np.cumsum(from_end), beyond, side="right")) - 1)
            for from_end in (weights, weights[::-1])
        )
        return float(values[low]), float(values[::-1][high])


def interval(regime: Regime | None, proven: Sequence[float] = ()) -> tuple[float, float]:
    """Residuals at both ends, at most and at least 0. ``regime``: ``None`` for any. ``proven``: those of the host."""
    sample = _of_regimes(TABLE)[regime]
    low, high = (sample.within(proven) if len(proven) >= FEWEST_PROVEN else sample).ends()
    return min(0.0, low), max(0.0, high)


@cache
def _of_regimes(table: Path) -> Mapping[Regime | None, Sample]:
    known: dict[Regime, list[float]] = {regime: [] for regime in get_args(Regime)}
    for row in json.loads(table.read_text())["residuals"]:
        known[row["regime"]] += row["values"]
    values = np.array([value for values in known.values() for value in values])
    pooled = Sample(values, np.ones(len(values)))
    return {None: pooled} | {regime: _widened(pooled.within(own), regime) for regime, own in known.items()}


def _widened(sample: Sample, regime: Regime) -> Sample:
    return Sample(WIDENED.get(regime, 1.0) * sample.values, sample.weights)


def thinned(values: Sequence[float]) -> list[float]:
    """At most :data:`A_PIPELINE` of them, from the least to the greatest."""
    count = min(A_PIPELINE, len(values))
    levels = (np.arange(count) + 0.5) / max(1, count)
    return [round(float(each), 4) for each in np.quantile(values, levels)] if count else []
