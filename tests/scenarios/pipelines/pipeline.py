"""One training job with a known truth, and how all of them are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal, NamedTuple, get_args

from underfed_server.model import Stage
from underfed_server.names import CauseName

Strength = Literal["none", "weak", "clear", "strong"]
"""``none``: the healthy neighbour. ``weak``: 5 to 15 % of the step, where finding nothing is no mistake."""

STRENGTHS: tuple[Strength, ...] = get_args(Strength)
KINDS = ("sick", "sound", "synthetic")
HOT = "hot"
"""The kind of those whose costly lines are known; to train some takes packages that the tests do not need."""

Windows = Callable[[Strength, str], Iterator[dict[str, Any]]]
"""The windows of the run with this id, in the order in which they are posted; the last one ends it."""


class KnownShare(NamedTuple):
    """Of loading, in a function and what it calls: by construction."""

    function: str
    fraction: float
    stage: Stage


@dataclass(frozen=True, slots=True)
class Pipeline:
    """``cause`` ``None``: there is nothing to find. Either it trains or its windows are synthetic."""

    cause: CauseName | None
    train: Callable[[Strength], None] | None = None
    """Runs the job in this process."""
    windows: Windows | None = None
    ranks: int = 1
    """Processes that train together."""
    cpus: int | None = None
    """CPUs that it may run on; ``None``: all."""
    shares: tuple[KnownShare, ...] = ()
    needs: tuple[str, ...] = ()
    """Packages that its training imports beside those of the tests; its recording does without."""
    is_profiled: bool = False
    """As with ``underfed run --profile``."""


def names(*kinds: str) -> list[str]:
    """``sick.slow_collate`` and the like; of all kinds but ``HOT`` where none is given."""
    return [
        f"{kind}.{module.name}"
        for kind in kinds or KINDS
        for module in sorted(iter_modules(import_module(f"{__package__}.{kind}").__path__), key=lambda each: each.name)
    ]


def pipeline(name: str) -> Pipeline:
    """
    Raises:
        ModuleNotFoundError: there is none of that name.
    """
    found: Pipeline = import_module(f"{__package__}.{name}").PIPELINE
    return found
