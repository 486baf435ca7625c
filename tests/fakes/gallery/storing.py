"""Stores the windows of the team's runs where a service will find them, and judges each run once.

What ``filling`` has a running service do takes it twice the CPU time, as it judges runs whose windows still come, and
half a minute of waiting until those that never ended count as lost.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.fakes.gallery.filling import windows_of
from tests.fakes.gallery.recorded import recorded
from tests.fakes.gallery.runs import BEFORE, answer, team
from tests.fakes.short_predictions import short_predictions
from underfed_server.diagnose import Diagnoser
from underfed_server.ingest.decode import decode
from underfed_server.ingest.posted import Ack, PostedWindow
from underfed_server.store.reading.spark import read_spark
from underfed_server.store.runs.status import LOST_AFTER
from underfed_server.store.store import Store, utc_now


class _Clock:
    """Windows come so long ago that a run without an end is lost."""

    def __init__(self) -> None:
        self.behind = timedelta()

    def __call__(self) -> datetime:
        return utc_now() - self.behind


def store_team(database: Path, *, without: Collection[str] = ()) -> None:
    """``database`` is made where it is not there. ``without``: runs to leave out, as nobody will look at them."""
    with short_predictions():
        _store_team(database, without)


def _store_team(database: Path, without: Collection[str]) -> None:
    clock = _Clock()
    store = Store(f"sqlite:///{database}", clock)
    try:
        diagnose = Diagnoser()
        jobs = [job for job in team() if job.run_id not in without]
        clock.behind = 2 * LOST_AFTER
        for job in jobs:
            _store(store, windows_of(job))
        real = {run_id: found for run_id, found in recorded() if run_id not in without}
        for found in real.values():
            _store(store, found)
        clock.behind = timedelta()
        for run_id in [*(job.run_id for job in jobs), *real]:
            _judge(store, diagnose, run_id)
        advised = store.diagnosis(BEFORE)
        assert advised is not None
        after = answer(next(each.settings for each in advised.advice if each.change == "num_workers"))
        _store(store, windows_of(after))
        _judge(store, diagnose, after.run_id)
    finally:
        store.close()


def _store(store: Store, windows: Iterable[dict[str, Any]]) -> None:
    posted = [store.submit(_posted(window)) for window in windows]
    assert all(isinstance(each.result(), Ack) for each in posted)


def _posted(window: dict[str, Any]) -> PostedWindow:
    body = json.dumps(window).encode()
    return PostedWindow(decode(body), "gzip", gzip.compress(body, 1, mtime=0))


def _judge(store: Store, diagnose: Diagnoser, run_id: str) -> None:
    """As the service does, so that one that is started there finds nothing left to judge."""
    diagnose(store, run_id)
    with store.reading() as reader:
        curve = read_spark(reader, run_id)
    store.note_judged(run_id, curve)
