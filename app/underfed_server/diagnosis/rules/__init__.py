"""One file a cause. A rule file has ``find(judged, limits)``; every file here is used, so a new rule is a new file."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.model import Cause, CauseFinding

Rule = Callable[[Judged, Limits], CauseFinding | None]
"""``cost_fraction`` is at most the part of the wait that the cause explains."""

FIRST: tuple[Cause, ...] = ("memory_pressure", "unsharded_iterable", "storage_wait")
LAST: tuple[Cause, ...] = ("no_workers", "too_few_workers", "cpu_limited")
"""A cause that names what loading waits for takes its share before those that say how much is loaded at once."""

AT_ANY_BOUND: frozenset[Cause] = frozenset({"memory_pressure", "unsharded_iterable"})
"""Told of every run, whatever it costs now: one that will fail, and one that trains on the same data several times."""


def all_rules() -> dict[str, Rule]:
    """By name of the cause, in the order in which they take their shares."""
    names = [module.name for module in iter_modules(__path__)]
    names.sort(key=lambda name: (name in LAST, name not in FIRST, name))
    return {name: import_module(f"{__name__}.{name}").find for name in names}
