"""Whether what a thread executes is the agent itself: that is no part of loading, and counted apart."""

from __future__ import annotations

import os
from pathlib import Path
from types import CodeType

Places = list[tuple[CodeType, int]]
"""Each code and ``f_lasti`` in it, the innermost first. A frame that was kept would keep the program's values."""

OURS = f"{Path(__file__).parents[2]}/"
"""Where our own functions lie."""

FOR_THE_PROGRAM = f"{OURS}trainer/prefetcher/"
"""It copies batches, which without it the program would do."""

PYTHONS = f"{Path(os.__file__).parent}/"
INSTALLED = ("/site-packages/", "/dist-packages/")


def is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(OURS)


def is_own_cost(places: Places) -> bool:
    """The innermost function that is none of Python's own library is ours: not one that we only call, as the
    program's loader is by our prefetcher."""
    for code, _ in places:
        if not is_pythons(code.co_filename):
            return is_ours(code) and not code.co_filename.startswith(FOR_THE_PROGRAM)
    return False


def is_pythons(file: str) -> bool:
    return file.startswith("<frozen") or (file.startswith(PYTHONS) and not any(part in file for part in INSTALLED))
