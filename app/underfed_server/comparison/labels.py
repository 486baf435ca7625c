"""How compared runs are called: by their names, and where they share one by what tells them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

SHORTEST = 6
"""Of the beginning of a run id: as much as a person would type for one."""


class Named(Protocol):
    @property
    def run_id(self) -> str: ...
    @property
    def name(self) -> str: ...


def labels_of(runs: Sequence[Named]) -> list[str]:
    names = [run.name for run in runs]
    ids = [run.run_id for run in runs]
    return [run.name if names.count(run.name) == 1 else _told_apart(run.name, run.run_id, ids) for run in runs]


def _told_apart(name: str, run_id: str, ids: Sequence[str]) -> str:
    """An id that begins with the name says both."""
    if run_id.startswith(name):
        return run_id
    length = next(
        (size for size in range(SHORTEST, len(run_id)) if sum(one.startswith(run_id[:size]) for one in ids) == 1),
        len(run_id),
    )
    return f"{name} ({run_id[:length]})"
