"""How much of each step went to a copy to the device that work did not hide.

Copies are timed in every step that could block and in few of the others, so a step that was not timed gets the mean of
those of its kind (could block, or found a batch ready).
"""

from __future__ import annotations

import numpy as np

from underfed_server.measurements import Column
from underfed_server.store.columns.stall import found_ready


def exposed_copy_us(h2d_exposed_us: Column, queue_depth: Column) -> Column:
    """Of each step; NaN where none was timed. A kind of which none was timed is taken to copy as the other does."""
    timed, ready = np.isfinite(h2d_exposed_us), found_ready(queue_depth)
    copy, unknown = h2d_exposed_us.copy(), np.zeros(len(timed), dtype=np.bool_)
    for kind in (ready, ~ready):
        seen = kind & timed
        if seen.any():
            copy[kind & ~timed] = np.mean(h2d_exposed_us[seen])
        else:
            unknown |= kind
    copy[unknown] = np.mean(copy[~unknown]) if timed.any() else np.nan
    return copy
