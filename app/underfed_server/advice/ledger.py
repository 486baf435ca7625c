"""Proof: what an advised change really gained, beside what was predicted."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from underfed_server.facts.record import Column, RunFacts
from underfed_server.model import Advice, Diagnosis, LedgerEntry, Setting

BLOCKS = 8
"""Blocks of consecutive steps whose means are compared: neighbouring steps are not independent, blocks nearly are."""

Z_95 = 1.96
"""Two-sided 95 % of the normal distribution."""


def carried_advice(later: RunFacts, diagnosis: Diagnosis) -> Advice | None:
    """The first advice of an earlier run's ``diagnosis`` that ``later`` carries; ``None``: it carries none."""
    if later.loader is None or later.run_id == diagnosis.run_id:
        return None
    settings = later.loader.settings
    return next((advice for advice in diagnosis.advice if _holds(settings, advice)), None)


def _holds(settings: Mapping[str, Setting], advice: Advice) -> bool:
    return all(settings.get(name) == value for name, value in advice.settings.items())


def compare(later: RunFacts, earlier: RunFacts, advice: Advice) -> LedgerEntry:
    """What ``advice`` for ``earlier`` gained in ``later``, which carries it, beside what was predicted."""
    observed = _speedup(later, earlier)
    low, high = observed[1:] if observed else (None, None)
    return LedgerEntry(
        advice_of=earlier.run_id,
        run_id=later.run_id,
        change=advice.change,
        settings=advice.settings,
        predicted_speedup=advice.predicted_speedup,
        low=advice.low,
        high=advice.high,
        observed_speedup=observed[0] if observed else None,
        observed_low=low,
        observed_high=high,
        inside_interval=_inside(advice, observed[0]) if observed else None,
    )


def _speedup(later: RunFacts, earlier: RunFacts) -> tuple[float, float, float] | None:
    """Ratio of mean steps with its 95 % interval from the spread of block means."""
    if not later.judged_steps or not earlier.judged_steps:
        return None
    new, new_error = _mean_of_blocks(later.median_rank.steps.step_us)
    old, old_error = _mean_of_blocks(earlier.median_rank.steps.step_us)
    ratio, spread = old / new, math.hypot(new_error / new, old_error / old)
    return ratio, ratio * math.exp(-Z_95 * spread), ratio * math.exp(Z_95 * spread)


def _mean_of_blocks(step_us: Column) -> tuple[float, float]:
    """``(mean, standard error)``; fewer than two steps a block cannot tell the error, so it is the mean itself."""
    mean = float(np.mean(step_us))
    if len(step_us) < 2 * BLOCKS:
        return mean, mean
    means = [float(np.mean(block)) for block in np.array_split(step_us, BLOCKS)]
    return mean, float(np.std(means, ddof=1)) / math.sqrt(BLOCKS)


def _inside(advice: Advice, observed: float) -> bool | None:
    if advice.low is None or advice.high is None:
        return None
    return advice.low <= observed <= advice.high
