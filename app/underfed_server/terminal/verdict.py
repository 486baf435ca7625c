"""The verdict in a word, as the page has it (``frontend/src/verdict.ts``): ``tests/contract`` holds both to it."""

from __future__ import annotations

from underfed_server.model import Bound, Diagnosis, JudgedRun, Level, Status


def word_of(judged: JudgedRun | Diagnosis, no_loader: str | None = None) -> str:
    """``no_loader``: why nothing was recorded of a run in which no loader was seen."""
    if no_loader:
        return "no loader seen"
    is_paused = bool(judged.is_mostly_paused)
    return verdict_word(judged.bound, judged.level, judged.status, is_mostly_paused=is_paused)


def verdict_word(bound: Bound, level: Level, status: Status, *, is_mostly_paused: bool = False) -> str:
    if "unknown" in (bound, level):
        return "measuring" if status == "running" else "no verdict"
    word = "some wait" if has_some_wait(bound, level) else "healthy" if is_well(bound, level) else f"{bound}-bound"
    return f"paused, {word}" if is_mostly_paused else word


def is_well(bound: Bound, level: Level) -> bool:
    return bound == "compute" and level == "healthy"


def has_some_wait(bound: Bound, level: Level) -> bool:
    """Between nothing to gain and data-bound: worth a look."""
    return (bound == "data" and level != "bound") or (bound == "compute" and level != "healthy")
