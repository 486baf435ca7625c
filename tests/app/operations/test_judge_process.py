"""The process that judges: what becomes of runs, of ingest and of the service when it dies or hangs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import psutil
import pytest

from tests.app.made_windows import SOON_JUDGED, made_stream
from tests.app.operations.asking import ask, send
from tests.app.operations.running import Running, running
from tests.app.serving import poll


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("judged") / "data") as started:
        yield started


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "data") as started:
        yield started


def judges(service: Running) -> list[psutil.Process]:
    """The one that forks, and the one that judges."""
    return psutil.Process(service.process.pid).children(recursive=True)


def judge(service: Running) -> psutil.Process:
    """It is forked when it is needed."""
    poll(lambda: len(judges(service)) == 2)
    return judges(service)[-1]


def judged_at(service: Running, run_id: str) -> datetime:
    answer = ask(service.address, f"/api/v1/runs/{run_id}/diagnosis")
    said = answer.json["judged_at"] if answer.status == 200 else None
    return datetime.fromisoformat(said.replace("Z", "+00:00")) if said else datetime.min.replace(tzinfo=timezone.utc)


def is_judged(service: Running, run_id: str) -> bool:
    return judged_at(service, run_id).year > 1


def test_a_run_is_judged_by_another_process_than_the_one_that_stores_it(shared: Running) -> None:
    for window in made_stream(3, run_id="first", **SOON_JUDGED):
        send(shared.address, window)
    poll(lambda: is_judged(shared, "first"))
    assert judge(shared).nice() > psutil.Process(shared.process.pid).nice()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_judge_that_is_killed_is_replaced_and_no_run_is_forgotten(shared: Running, number: int) -> None:
    run_id = f"killed-{number}"
    first, *rest = made_stream(3, run_id=run_id, **SOON_JUDGED)
    send(shared.address, first)
    poll(lambda: is_judged(shared, run_id))
    killed = judge(shared)
    killed.send_signal(number)
    killed_at = datetime.now(timezone.utc)
    for window in rest:
        send(shared.address, window)
    poll(lambda: judged_at(shared, run_id) > killed_at)
    if number == signal.SIGKILL:
        poll(lambda: judge(shared).pid != killed.pid)
    else:
        # What stops a service is sent to all of its processes: the service itself decides when they end.
        assert judge(shared).pid == killed.pid


def test_a_judge_that_hangs_keeps_no_window_and_no_end_waiting(service: Running) -> None:
    first, second, third = made_stream(3, run_id="run-1", **SOON_JUDGED)
    send(service.address, first)
    poll(lambda: is_judged(service, "run-1"))
    both = judges(service)
    both[-1].suspend()
    send(service.address, second)
    poll(lambda: ask(service.address, "/api/v1/runs/run-1").json["steps"] == 40)
    send(service.address, third)
    poll(lambda: ask(service.address, "/healthz").json["judging_lag_s"] > 0)
    service.stop()
    assert service.process.returncode == 0
    assert [each for each in both if each.is_running()] == []
    assert service.log.read_text() == ""


def test_runs_are_judged_in_the_service_where_no_process_can_be_forked_any_more(service: Running) -> None:
    first, second, third = made_stream(3, run_id="run-1", **SOON_JUDGED)
    send(service.address, first)
    poll(lambda: is_judged(service, "run-1"))
    for each in judges(service):
        each.kill()
    killed_at = datetime.now(timezone.utc)
    for window in (second, third):
        send(service.address, window)
    poll(lambda: judged_at(service, "run-1") > killed_at)
    service.stop()
    assert service.process.returncode == 0
    assert "no process can be forked that judges" in service.log.read_text()


def test_no_judge_outlives_a_service_that_is_killed(service: Running) -> None:
    send(service.address, next(made_stream(1, **SOON_JUDGED)))
    judge(service)
    both = judges(service)
    os.kill(service.process.pid, signal.SIGKILL)
    until = time.monotonic() + 60
    while any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in both):
        assert time.monotonic() < until
        time.sleep(0.01)
