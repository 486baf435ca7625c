"""How often a process of the service looks for cyclic garbage.

A window, a judgement and a chunk become thousands of small objects that end with them, which Python takes for a sign to
look again and again. What waits to be written makes it look the more often, and so wait the longer.
"""

from __future__ import annotations

import gc

SELDOM = (1_000_000, 10, 50)
"""Objects that are new and not gone, then looks at these before one at older ones. Python's own are (700, 10, 10). With
50,000 a service that 2,400 ranks post to looked for a sixth of its time (own study)."""


def look_seldom() -> None:
    """Have this process, and those that it forks, look less often, and never among what it started with."""
    gc.freeze()
    gc.set_threshold(*SELDOM)


def collect_and_look_seldom() -> None:
    """Likewise, once what is garbage already has been collected."""
    gc.collect()
    look_seldom()
