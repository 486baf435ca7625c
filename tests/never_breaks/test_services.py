"""Whatever the service does, training goes on, and what was recorded arrives or is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.jobs import end, environment, run_job, start_job
from tests.fakes.service import Fault, Service, wait_until
from tests.fakes.traces import wait_for_collectors
from tests.never_breaks.evidence import (
    STEPS,
    assert_all_arrived,
    assert_untouched,
    delivered,
    push,
    window_indexes,
)

pytestmark = pytest.mark.usefixtures("forked_collectors")

ERROR = {"error": {"code": "x", "message": "no"}}
PAGE = b"<html>Bad gateway</html>"


def spools(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "data" / "spool").glob("*"))


def in_another_shell(command: str) -> subprocess.CompletedProcess[str]:
    """With the address of no service in its environment."""
    known = environment(UNDERFED_URL="", PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    return subprocess.run(["sh", "-c", command], env=known, capture_output=True, text=True, check=False)


def test_a_service_that_was_never_there_costs_one_line_at_the_end(
    absent_service: Service, run_id: str, tmp_path: Path
) -> None:
    job = run_job("--patient")
    assert_untouched(job)
    lines = [line for line in job.stderr.splitlines() if line.startswith("underfed: ")]
    assert lines[0] == f"underfed: run training at {absent_service.url}/runs/{run_id}"
    assert len(lines) == 2
    assert "left to send: " in lines[1] and f"kept in {tmp_path / 'data'};" in lines[1]
    command = f"UNDERFED_URL={absent_service.url} underfed push"
    assert f"`{command}` sends" in lines[1]
    wait_for_collectors(run_id)
    pushed = push()
    assert pushed.returncode == 1
    assert f"windows of {run_id} are left" in pushed.stderr
    assert "refused" in pushed.stderr
    absent_service.start()
    sent = in_another_shell(command)
    assert sent.returncode == 0
    assert_all_arrived(absent_service)
    assert sent.stdout.startswith(f"{run_id}: ")
    assert spools(tmp_path) == []
    assert push().stdout == f"There is nothing to send in {tmp_path / 'data'}.\n"


def test_a_service_that_is_killed_and_restarted_gets_everything_once(service: Service) -> None:
    arguments = ("--length", "1000", "--work-ms", "5", "--epochs", "1")
    job = start_job(*arguments)
    wait_until(lambda: service.count_steps() > 0, "the first steps arrive")
    service.stop()
    seen = len(service.windows)
    output, _ = job.communicate()
    assert (job.returncode, len(output.splitlines())) == (0, 250)
    assert len(service.windows) == seen
    service.start()
    wait_until(service.ends, "everything arrives")
    assert_all_arrived(service, 250)


FAULTS = {
    "wants a token": Fault(401, ERROR),
    "is busy": Fault(503, ERROR, {"Retry-After": "1"}),
    "never answers": Fault(200, manner="hangs"),
    "answers a few bytes at a time": Fault(200, b" " * 1000, manner="drips"),
    "answers after 8 s": None,
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_service_that_accepts_nothing_gets_everything_later(
    service: Service, fault: Fault | None, run_id: str, short_linger: None
) -> None:
    if fault is None:
        service.delay_s = 8.0
    service.always = fault
    job = run_job("--workers", "1")
    assert_untouched(job, "--workers", "1")
    # Nothing was answered yet, so nobody waited for an answer.
    assert not service.ends()
    wait_for_collectors(run_id)
    service.let_go()
    assert push().returncode == 0
    assert_all_arrived(service)


def test_a_service_with_every_kind_of_fault_gets_everything_once(service: Service, run_id: str) -> None:
    service.faults = [
        Fault(500, ERROR),
        Fault(502, PAGE),
        Fault(200, PAGE),
        Fault(200, b'{"next_window_index": 1', after_commit=True),
        Fault(429, ERROR, {"Retry-After": "1"}),
        Fault(200, after_commit=True, manner="cut"),
        Fault(413, PAGE),
        Fault(409, ERROR),
        Fault(404, PAGE),
        Fault(403, ERROR),
        Fault(0, after_commit=True),
    ]
    assert_untouched(run_job())
    # The collector ends before its minute of waiting is over, since everything was acknowledged.
    wait_for_collectors(run_id)
    assert service.faults == []
    assert_all_arrived(service)


def test_windows_that_a_service_rejects_for_good_are_set_aside(service: Service, tmp_path: Path, run_id: str) -> None:
    service.faults = [Fault(400, {"error": {"code": "invalid", "message": "no"}})]
    job = start_job("--wait-for", str(tmp_path / "refused"))
    wait_until(lambda: not service.faults, "the first window is refused")
    (tmp_path / "refused").touch()
    assert_untouched(end(job))
    wait_until(service.ends, "the end arrives")
    wait_for_collectors(run_id)
    (spool,) = spools(tmp_path)
    (refused,) = (spool / "rejected").iterdir()
    assert refused.name.endswith("-00000000.json.gz")
    assert window_indexes(service) == list(range(1, len(service.windows) + 1))
    assert service.windows[-1]["losses"]["rejected_windows"] == 1
    assert delivered(service)[-1] == STEPS - 1


def test_a_slow_service_delays_nobody_but_itself(service: Service) -> None:
    service.delay_s = 0.7
    arguments = ("--length", "240", "--work-ms", "10", "--epochs", "1")
    assert_untouched(run_job(*arguments), *arguments)
    wait_until(service.ends, "the end arrives")
    assert_all_arrived(service, 60)


def test_spools_of_several_runs_are_pushed_together(absent_service: Service, tmp_path: Path, run_id: str) -> None:
    # Names that no other process of this machine has in its command line.
    names = [f"{run_id}-one", f"{run_id}-two"]
    jobs = [start_job(UNDERFED_RUN_ID=name) for name in names]
    for name, job in zip(names, jobs, strict=True):
        job.communicate()
        wait_for_collectors(name)
    absent_service.start()
    pushed = push(str(tmp_path / "data"))
    assert pushed.returncode == 0
    assert [line.partition(":")[0] for line in pushed.stdout.splitlines()] == names
    assert {window["run_id"] for window in absent_service.windows} == set(names)
    assert absent_service.count_steps() == 2 * STEPS
