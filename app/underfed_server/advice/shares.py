"""What a step would be without a measured part of it: computed from the run's own steps, without a simulation.

The interval is the 95 % of a share that differs from block to block of consecutive steps: neighbouring steps are not
independent, blocks nearly are.
"""

from __future__ import annotations

import numpy as np

from underfed_server.advice.proof.pace import BLOCKS, T_95, Gain, standard_error
from underfed_server.measurements import Column

MOST_SHARE = 0.99
"""A share of nearly all would give a factor that no measurement supports."""


def factor_without(share: float) -> float:
    """On steps per second, if this share of a step went away."""
    return 1 / (1 - min(MOST_SHARE, share))


def gain_without(step_us: Column, part_us: Column, at_most: float = MOST_SHARE) -> Gain | None:
    """The gain if ``part_us`` of each step went away, but at most the share ``at_most``. ``None``: not measured.

    Steps in which the part was not measured are left out. With fewer than two steps a block there is no
    estimate of the error: the interval is from 0 to ``at_most``.
    """
    known = np.isfinite(part_us) & np.isfinite(step_us)
    step, part = step_us[known], np.clip(part_us[known], 0.0, step_us[known])
    if not len(step) or not np.sum(step) > 0:
        return None
    most = min(at_most, MOST_SHARE)
    share = min(most, float(np.sum(part) / np.sum(step)))
    error = _error(step, part)
    low, high = (0.0, most) if error is None else (max(0.0, share - error), min(most, share + error))
    return Gain(1 / (1 - share), 1 / (1 - low), 1 / (1 - high))


def _error(step_us: Column, part_us: Column) -> float | None:
    """Half the width of the interval."""
    if len(step_us) < 2 * BLOCKS:
        return None
    blocks = zip(np.array_split(part_us, BLOCKS), np.array_split(step_us, BLOCKS), strict=True)
    return T_95[BLOCKS - 2] * standard_error(np.array([np.sum(part) / np.sum(step) for part, step in blocks]))
