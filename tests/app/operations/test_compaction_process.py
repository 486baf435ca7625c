"""The process that computes chunks: what becomes of streams, of ingest and of the service when it dies."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from tests.app.made_windows import SOON_JUDGED, made_stream
from tests.app.operations.asking import ask, send
from tests.app.operations.running import Running, running
from tests.app.serving import poll


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "data") as started:
        yield started


def forked(service: Running) -> list[psutil.Process]:
    """The one that forks, and those that it has forked."""
    return psutil.Process(service.process.pid).children(recursive=True)


def compacting(service: Running) -> psutil.Process:
    """The judge, unlike it, leaves the cores to others."""
    service_nice = psutil.Process(service.process.pid).nice()
    _, *others = forked(service)
    (found,) = [each for each in others if each.nice() == service_nice]
    return found


def send_ended(service: Running, run_id: str) -> None:
    *most, last = made_stream(3, run_id=run_id, **SOON_JUDGED)
    for window in (*most, last | {"end": {"status": "finished"}}):
        send(service.address, window)


def count(service: Running, table: str, run_id: str) -> int:
    """Rows of the run, as another process reads them."""
    with closing(sqlite3.connect(f"file:{service.database}?mode=ro", uri=True)) as connection:
        asked = f"SELECT count(*) FROM {table} WHERE run_id = ?"
        return int(connection.execute(asked, (run_id,)).fetchone()[0])


def is_compacted(service: Running, run_id: str) -> bool:
    return count(service, "chunk", run_id) > 0 and count(service, "hot", run_id) == 0


def steps(service: Running, run_id: str) -> int:
    return int(ask(service.address, f"/api/v1/runs/{run_id}").json["steps"])


def test_chunks_are_computed_by_another_process_than_the_one_that_stores_windows(service: Running) -> None:
    send_ended(service, "run-1")
    poll(lambda: is_compacted(service, "run-1"))
    assert compacting(service).is_running()
    assert steps(service, "run-1") == 60
    both = forked(service)
    service.stop()
    assert service.process.returncode == 0
    assert [each for each in both if each.is_running()] == []
    assert service.log.read_text() == ""


def test_one_that_is_killed_is_replaced(service: Running) -> None:
    send_ended(service, "run-1")
    poll(lambda: is_compacted(service, "run-1"))
    killed = compacting(service)
    killed.kill()
    poll(lambda: not killed.is_running() or killed.status() == psutil.STATUS_ZOMBIE)
    # The first stream that it is asked for finds it dead, and is set aside.
    send_ended(service, "run-2")
    poll(lambda: "set aside" in service.log.read_text())
    send_ended(service, "run-3")
    poll(lambda: is_compacted(service, "run-3"))
    assert [steps(service, run_id) for run_id in ("run-1", "run-2", "run-3")] == [60, 60, 60]


def test_the_service_compacts_itself_where_no_process_can_be_forked_any_more(service: Running) -> None:
    send_ended(service, "run-1")
    poll(lambda: is_compacted(service, "run-1"))
    compacting(service).kill()
    for each in forked(service):
        each.kill()
    for number in range(2, 6):
        send_ended(service, f"run-{number}")
    poll(lambda: is_compacted(service, "run-5"))
    assert "no process can be forked that compacts" in service.log.read_text()
    service.stop()
    assert service.process.returncode == 0
