"""What input cost a loop whose device works on its own: the recorded steps, computed without their waits.

The time that the device was idle inside ``next()`` is a lower bound of it: a wait may also delay the host so far that
the device has nothing to do later, and all of the wait is the most it can be. Between the two lies this recurrence, in
which the host reaches step k's end at ``L(k) = L(k-1) + wait(k) + rest(k)`` and the device finishes its work at
``G(k) = max(L(k), G(k-1)) + work(k)``; what is lost is how much earlier the device finishes when every wait is 0.

Work is what lies between two events on the device, so a pause in which the host had not launched the next kernel yet
counts as work: the result is rather too small than too large.
"""

from __future__ import annotations

import numpy as np

from underfed_server.measurements import Column

SEEN_WORK = 1 / 32
"""Share of the steps whose device work must have been seen: half of the one in 16 that is timed in a loop whose queue
is never empty."""

MOST_AHEAD = 64
"""Steps. A host that seems further ahead of its device is so by rounding: work is seen in some of the steps only."""


def input_lost_us(
    step_us: Column, rest_us: Column, stall_us: float, gpu_idle_us: Column, gpu_work_us: Column
) -> float | None:
    """Of the mean step, between ``stall_us`` and the mean wait.

    Args:
        stall_us: device idle time inside ``next()``, of the mean step.
        rest_us, gpu_idle_us, gpu_work_us: as for :func:`device_work_us`.

    ``None``: the device's work was seen in too few steps. That is so in a loop that waits for the device in every step,
    where the idle time itself is the loss.
    """
    work = device_work_us(rest_us, gpu_idle_us, gpu_work_us)
    if work is None:
        return None
    lost = _finish(step_us, work) - _finish(rest_us, work)
    return float(np.clip(lost / len(rest_us), stall_us, np.mean(step_us - rest_us)))


def device_work_us(rest_us: Column, gpu_idle_us: Column, gpu_work_us: Column) -> Column | None:
    """What the device worked for each step. ``None``: its work was seen in too few of them.

    Steps whose work was not seen count as doing the others' mean; in a timed one it ended before the rest did.

    Args:
        rest_us: each step without its waits.
        gpu_idle_us: inside ``next()``, NaN in the steps that were not timed.
        gpu_work_us: NaN where the device was not seen at work when the next batch was requested.
    """
    steps = len(rest_us)
    if not steps or np.count_nonzero(np.isfinite(gpu_work_us)) < max(1.0, SEEN_WORK * steps):
        return None
    mean = float(np.nanmean(gpu_work_us))
    assumed = np.where(np.isfinite(gpu_idle_us), np.minimum(mean, rest_us), mean)
    return np.where(np.isfinite(gpu_work_us), gpu_work_us, assumed)


def steps_ahead(host_us: Column, work_us: Column) -> int:
    """The steps that the device still had before it, at most, when the host reached a step's end and launched its work.

    Args:
        host_us: each step, its wait included.
    """
    reached, worked = np.cumsum(host_us), np.cumsum(work_us)
    done = worked + np.maximum.accumulate(reached - (worked - work_us))
    pending = np.arange(1, len(done)) - np.searchsorted(done, reached[1:], side="right")
    return int(np.clip(np.max(pending, initial=0), 1, MOST_AHEAD))


def _finish(host_us: Column, work: Column) -> float:
    """When the device has finished the last step: G(n) is the longest of the paths that change from host to device."""
    before = np.cumsum(work) - work
    return float(np.sum(work) + np.max(np.cumsum(host_us) - before))
