"""What the service answers of recorded runs, for the page's own tests: ``python -m tests.recorded_runs.answers``."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.app.store.posting import post
from tests.recorded_runs import windows_of
from underfed_server.api.series import series
from underfed_server.diagnose import Diagnoser
from underfed_server.store.store import Store

ANSWERS = Path(__file__).parent / "answers"
ENDED_AT = datetime(2026, 11, 23, 12, tzinfo=timezone.utc)
ASKED = {
    "checkpoints": ("step_us", "data_wait_us", "pause_us", "queue_depth"),
    "three_loaders": ("step_us", "data_wait_us", "pause_us"),
    "straggler": ("step_us", "data_wait_us", "pause_us"),
    "short_run": ("step_us", "data_wait_us", "pause_us"),
}
"""The metrics asked for, without a rank and a loader."""


def judged(store: Store, name: str) -> str:
    """The identity of the run, which ended at a known time."""
    windows = windows_of(name, ended_at=ENDED_AT)
    run_id = str(windows[0]["run_id"])
    post(store, windows)
    Diagnoser()(store, run_id)
    return run_id


def answer(store: Store, run_id: str, name: str) -> dict[str, Any]:
    """Of ``/series``, with the defaults of all that is not asked for."""
    found = series(run_id, store, list(ASKED[name]), None, None, 0, 0, None, 240, percentiles=False)
    served: dict[str, Any] = json.loads(bytes(found.body))
    return served


def main() -> None:
    ANSWERS.mkdir(exist_ok=True)
    for name in ASKED:
        with TemporaryDirectory() as directory:
            store = Store(f"sqlite:///{directory}/underfed.db")
            served = answer(store, judged(store, name), name)
            store.close()
        (ANSWERS / f"{name}.json").write_text(json.dumps(served, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
