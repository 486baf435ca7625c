"""The list of runs as whoever asks for it reads it."""

from __future__ import annotations

from typing import Any

from underfed_server.model import RunsPage
from underfed_server.store.runs.listing import RunFilter
from underfed_server.store.store import Store


def listed(store: Store, **asked: Any) -> RunsPage:
    return RunsPage.model_validate_json(store.runs(RunFilter(**asked)))
