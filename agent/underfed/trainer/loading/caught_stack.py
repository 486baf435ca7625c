"""What a thread executes at the moment that another one, which has slept, has the interpreter lock again.

The thread that is looked at asks for the lock back at once, and is given it at the next instruction of Python's that
may. So between sleeping and reading there is none: iterators in C sleep, find the frames, read where each is, and what
the agent noted of it. Else the thread has gone on when it is read, and a call that kept the lock is found as what comes
after it, or joining samples as loading them.

Nor is garbage collected there, which older Pythons do wherever an object is created, and which runs the program's code.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from itertools import accumulate, chain, compress, repeat, starmap, takewhile, tee
from operator import attrgetter, methodcaller
from types import CodeType, FrameType
from typing import Any

Caught = list[tuple[FrameType, tuple[CodeType, int]]]
"""Each frame of a stack with its code and ``f_lasti``, the innermost first. The frames go on, and have the program's
values: they are not kept."""

_place: Any = attrgetter("f_code", "f_lasti")

COLLECTING: list[tuple[()]] = [()] if sys.version_info < (3, 12) else []
"""Newer Pythons collect between two instructions only. In 3.11 before 3.11.9 ``sys._current_frames`` creates frames
while it holds a lock that each thread's beginning and end needs. Where a finalizer gives the interpreter lock to such a
thread, as that of a tensor does, both wait for each other for good, and with them the training."""


def caught_after(seconds: float, ident: int, state: Callable[[], Any]) -> tuple[Caught, Any]:
    """Sleep for so long, then read what the thread of that identity executes, and what ``state``, written in C, returns
    then. No frames, and ``None``: the thread has ended.
    """
    innermost: Any = map(methodcaller("get", ident), starmap(sys._current_frames, [()]))
    callers: Any = accumulate(chain(innermost, repeat("f_back")), getattr)
    frames, same = tee(takewhile(bool, callers))
    slept: Any = starmap(time.sleep, [(seconds,)])
    # Read once, before the look: what the program had it at is what it has after.
    is_on, was_on = tee(starmap(gc.isenabled, COLLECTING))
    paused: Any = starmap(gc.disable, compress([()], is_on))
    resumed: Any = starmap(gc.enable, compress([()], was_on))
    read: Any = chain(zip(frames, map(_place, same), strict=True), starmap(state, [()]))
    try:
        *found, noted = chain(filter(None, chain(slept, paused)), read, filter(None, resumed))
    finally:
        list(resumed)  # an error came before
    return found, noted if found else None
