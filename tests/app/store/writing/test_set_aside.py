"""A stream that cannot be compacted is set aside and logged; everything else goes on, and so does what it sends."""

from __future__ import annotations

import time
from typing import Any

import pytest
from sqlalchemy import Connection

from tests.app.made_windows import made_stream
from tests.app.store.posting import post
from underfed_server.counters import Counters
from underfed_server.store.store import Store
from underfed_server.store.writing import compact as compacting
from underfed_server.store.writing import writer as writing
from underfed_server.store.writing.streams import StreamKey


def ended(run_id: str, windows: int = 3) -> list[dict[str, Any]]:
    *most, last = made_stream(windows, run_id=run_id)
    return [*most, last | {"end": {"status": "finished"}}]


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs that compaction was tried for; that of ``broken`` fails each time."""
    runs: list[str] = []
    compact = compacting.compact

    def breaking(connection: Connection, key: StreamKey) -> compacting.Compaction | None:
        runs.append(key.run_id)
        if key.run_id == "broken":
            raise ValueError("on purpose")
        return compact(connection, key)

    monkeypatch.setattr(writing, "compact", breaking)
    return runs


def test_it_is_tried_once_logged_and_keeps_no_other_from_it(
    database_url: str, tried: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    counters = Counters()
    store = Store(database_url, counters=counters)
    post(store, ended("broken"))
    for number in range(3):
        post(store, ended(f"run-{number}"))
    while len(set(tried)) < 4:
        post(store, [])
        store.write(lambda _: None)
    assert tried.count("broken") == 1
    assert store.aside == 1
    assert counters.compaction_failures._value.get() == 1
    assert [record.message for record in caplog.records if "set aside" in record.message] != []
    assert "run broken, rank 0" in caplog.text
    assert len(store.steps("broken", 0, "train").step_us) == 60, "what it holds is read as it came"
    store.close()


def test_it_is_tried_again_after_a_while(database_url: str, tried: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    queue = compacting.CompactionQueue()
    key = StreamKey("broken", 0, 1)
    queue.set_aside(key)
    queue.note(key, compacting.DUE_ROWS, 1, has_ended=True)
    assert not queue.are_due
    assert queue.next_due(look_for_quiet=True) is None
    monkeypatch.setattr(time, "monotonic", lambda: 1e9)
    queue.note(key, compacting.DUE_ROWS, 1, has_ended=False)
    assert queue.next_due(look_for_quiet=False) == key
    assert queue.aside == 0


def test_a_run_that_is_deleted_is_set_aside_no_longer() -> None:
    queue = compacting.CompactionQueue()
    queue.set_aside(StreamKey("broken", 0, 1))
    queue.forget("broken")
    assert queue.aside == 0
