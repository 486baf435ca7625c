"""The verdict in a word, as the page has it (``frontend/src/verdict.ts``): ``tests/contract`` holds both to it."""

from __future__ import annotations

from underfed_server.model import Bound, Level, Status


def verdict_word(bound: Bound, level: Level, status: Status, no_loader: str | None = None) -> str:
    """``no_loader``: why nothing was recorded of a run in which no loader was seen."""
    if no_loader:
        return "no loader seen"
    if "unknown" in (bound, level):
        return "measuring" if status == "running" else "no verdict"
    if is_well(bound, level):
        return "healthy"
    return "some wait" if has_some_wait(bound, level) else f"{bound}-bound"


def is_well(bound: Bound, level: Level) -> bool:
    return bound == "compute" and level == "healthy"


def has_some_wait(bound: Bound, level: Level) -> bool:
    """Between nothing to gain and data-bound: worth a look."""
    return (bound == "data" and level != "bound") or (bound == "compute" and level != "healthy")
