"""Recorded runs that many tests look at: each is posted to a store of its own and judged when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.app.store.posting import post
from underfed_server.diagnose import Diagnoser
from underfed_server.model import Diagnosis
from underfed_server.store.store import Store


def judge(store: Store, windows: Sequence[dict[str, Any]]) -> Diagnosis:
    """Of the run that these windows are all of."""
    run_id = str(windows[0]["run_id"])
    post(store, windows)
    Diagnoser()(store, run_id)
    found = store.diagnosis(run_id)
    assert found is not None
    return found


@dataclass(frozen=True, slots=True)
class JudgedRuns:
    """For tests that change nothing. No run shares its store: an earlier run of the same job may be spoken of."""

    directory: Path
    windows_of: Callable[[str], Sequence[dict[str, Any]]]
    _judged: dict[str, tuple[Store, Diagnosis]] = field(default_factory=dict)

    def store(self, name: str) -> Store:
        return self._of(name)[0]

    def diagnosis(self, name: str) -> Diagnosis:
        return self._of(name)[1]

    def _of(self, name: str) -> tuple[Store, Diagnosis]:
        if name not in self._judged:
            store = Store(f"sqlite:///{self.directory / name}.db")
            self._judged[name] = store, judge(store, self.windows_of(name))
        return self._judged[name]

    def close(self) -> None:
        while self._judged:
            self._judged.popitem()[1][0].close()
