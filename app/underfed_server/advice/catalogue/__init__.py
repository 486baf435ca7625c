"""One file a change. Each has ``consider(case)``; every file here is asked, so a new change is a new file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import iter_modules

from underfed_server.advice.case import Case
from underfed_server.model import Advice, Refusal

Change = Callable[[Case], Sequence[Advice | Refusal]]


def all_changes() -> tuple[Change, ...]:
    """Every change of this package, in order of file name."""
    names = sorted(module.name for module in iter_modules(__path__))
    return tuple(import_module(f"{__name__}.{name}").consider for name in names)
