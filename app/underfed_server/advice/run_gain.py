"""What a change of one loader gains the run: its gain is one of that loader's loop, a share of the run's time.

A loop that takes the share f of the run and becomes s times as fast leaves the rest as it is: the run then takes
1 − f (1 − 1 / s) of its time.
"""

from __future__ import annotations

from collections.abc import Sequence

from underfed_server.model import Advice, LoaderLine

NEARLY_ALL = 0.99
"""Share of the run's time from which the loop's gain is the run's: they differ by less than the last digit written."""


def with_run_gains(advice: Sequence[Advice], loaders: Sequence[LoaderLine], paused: float = 0.0) -> list[Advice]:
    """``loaders``: all of the run, each with its loop's share of the run. ``paused``: share of the judged loop's time
    in which the program did something else.
    """
    shares = {line.loader: line.share_of_run_fraction * (1 - paused) for line in loaders}
    return [_with_run_gain(one, shares.get(one.loader or "")) for one in advice]


def _with_run_gain(one: Advice, share: float | None) -> Advice:
    if not share or share >= NEARLY_ALL:
        return one
    gains = {"run_speedup": one.predicted_speedup, "run_low": one.low, "run_high": one.high, "run_ceiling": one.ceiling}
    return one.model_copy(update={name: _of_run(gain, share) for name, gain in gains.items()})


def _of_run(gain: float | None, share: float) -> float | None:
    return None if not gain else 1 / (1 - share * (1 - 1 / gain))
