"""One file a cause. A rule file has ``find(facts, limits)``; every file here is used, so a new rule is a new file."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from underfed_server.diagnosis.limits import Limits
from underfed_server.facts.record import RunFacts
from underfed_server.model import CauseFinding

Rule = Callable[[RunFacts, Limits], CauseFinding | None]
"""Called only for runs that lose time to their input. ``cost_fraction`` is at most the stall."""


def all_rules() -> tuple[Rule, ...]:
    """Every rule of this package, in order of file name."""
    names = sorted(module.name for module in iter_modules(__path__))
    return tuple(import_module(f"{__name__}.{name}").find for name in names)
