"""What a thread executes at the moment that another one, which has slept, has the interpreter lock again.

The thread that is looked at asks for the lock back at once, and is given it at the next instruction of Python's that
may. So between sleeping and reading there is none: iterators in C sleep, find the frames, read where each is, and what
the agent noted of it. Else the thread has gone on when it is read, and a call that kept the lock is found as what comes
after it, or joining samples as loading them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import accumulate, chain, repeat, starmap, takewhile, tee
from operator import attrgetter, itemgetter
from types import CodeType, FrameType
from typing import Any

Caught = list[tuple[FrameType, tuple[CodeType, int]]]
"""Each frame of a stack with its code and ``f_lasti``, the innermost first. The frames go on, and have the program's
values: they are not kept."""

_place: Any = attrgetter("f_code", "f_lasti")


def caught_after(seconds: float, ident: int, state: Callable[[], Any]) -> tuple[Caught, Any]:
    """Sleep for so long, then read what the thread of that identity executes, and what ``state``, written in C, returns
    then. No frames, and ``None``: the thread has ended.
    """
    innermost: Any = map(itemgetter(ident), starmap(sys._current_frames, [()]))
    callers: Any = accumulate(chain(innermost, repeat("f_back")), getattr)
    frames, same = tee(takewhile(bool, callers))
    slept: Any = starmap(time.sleep, [(seconds,)])
    try:
        found = list(chain(slept, zip(frames, map(_place, same), strict=True), starmap(state, [()])))
    except KeyError:
        return [], None
    return found[1:-1], found[-1]
