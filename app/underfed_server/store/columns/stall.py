"""How much of each step was lost waiting for input: by the device's clock where it was read, else by the host's.

The device is timed in every step that could block, but only in one of 16 of those that found a batch ready. Those in
between are estimated, not taken for 0: also a ready batch takes milliseconds to receive, during which a device that has
run out of work stands idle.

**The estimate.** Device idle time is a part of the step's own wait, which is known of every step. So a step that was
not timed gets its own wait, times the share of the wait that was idle in the timed steps of its kind (could block, or
found a batch ready): a ratio estimate. Against the plain mean of the timed ones it never exceeds a step's wait, and one
rare long wait among the timed steps does not count 16 times. The kinds are kept apart because they are sampled
differently, and because waiting for an empty queue says nothing about a wait that queued work hides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from underfed_server.measurements import Column

TIMED_BLOCKING = 0.8
"""Share of the steps that could block which must have been timed: an exhausted pool of event pairs leaves out some, and
those were the ones in which the device was furthest behind."""

TIMED_READY = 1 / 32
"""Of the steps that found a batch ready: half of the one in 16 that is timed."""


def has_device_clock(gpu_idle_us: Column, queue_depth: Column) -> bool:
    """The device was timed in enough of these steps to say what all of them lost."""
    timed, ready = np.isfinite(gpu_idle_us), found_ready(queue_depth)
    if not timed.any():
        return False
    blocking = np.count_nonzero(timed & ~ready) >= TIMED_BLOCKING * np.count_nonzero(~ready)
    sampled = np.count_nonzero(timed & ready) >= np.count_nonzero(ready) // (1 / TIMED_READY)
    return bool(blocking and sampled)


def stall_us(data_wait_us: Column, gpu_idle_us: Column, queue_depth: Column) -> Column:
    """Of each step; the host's wait of all of them where the device was not timed in enough."""
    if not has_device_clock(gpu_idle_us, queue_depth):
        return data_wait_us.copy()
    ready = found_ready(queue_depth)
    stall = gpu_idle_us.copy()
    for kind in (ready, ~ready):
        timed = kind & np.isfinite(gpu_idle_us)
        missing = kind & ~timed
        stall[missing] = data_wait_us[missing] * _idle_share(data_wait_us[timed], gpu_idle_us[timed])
    return stall


def found_ready(queue_depth: Column) -> NDArray[np.bool_]:
    """Requests that found a batch; without a queue none does."""
    return queue_depth >= 1


def _idle_share(wait_us: Column, idle_us: Column) -> float:
    """Of the wait. Where no step of the kind was timed, all of it: the most that it can be."""
    if not len(wait_us):
        return 1.0
    waited = float(np.sum(wait_us))
    return min(1.0, float(np.sum(idle_us)) / waited) if waited > 0 else 0.0
