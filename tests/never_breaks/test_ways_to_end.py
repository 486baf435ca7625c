"""However training ends, it ends as it would have without the agent, and the run says how."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.fakes.jobs import end, last_line, start_job
from tests.fakes.service import Service, wait_until
from tests.never_breaks.evidence import assert_all_arrived, delivered
from underfed.collector.reading.ends import UNREPORTED
from underfed.host.process_end import ProcessEnd

pytestmark = pytest.mark.usefixtures("forked_collectors")

ENDS = ["normally", "break", "raise", "loader raises", "exit 3", "interrupt", "terminate", "kill", "fault", "leave"]
ENDS += ["exit after a traceback", "exit with words", "exit 0 after an error"]
ENDS += ["fail at exit", "leave at exit", "die at exit"]
JOBS = [(end, 0) for end in [*ENDS, "leave well", "thread leaves"]]
JOBS += [(end, 2) for end in ("normally", "loader raises", "interrupt")]

BATCHES = {"normally": 20, "thread leaves": 20, "break": 8, "loader raises": 4}
"""Of ten in each epoch; the others end at the fourth."""

FINISHED = ("finished", None, 0)
STATUS = {
    "normally": FINISHED,
    "thread leaves": FINISHED,
    "break": FINISHED,
    "raise": ("crashed", "ValueError: the loss is not a number", 1),
    "loader raises": ("crashed", "ValueError: ", 1),
    "exit 3": ("crashed", "exit code 3", 3),
    "exit after a traceback": ("crashed", "exit code 1", 1),
    "exit with words": ("crashed", "exit code 1", 1),
    "exit 0 after an error": FINISHED,
    "fail at exit": FINISHED,
    "leave at exit": ("crashed", "exit code 6", 6),
    "die at exit": ("crashed", "killed by SIGKILL", -9),
    "interrupt": ("crashed", "KeyboardInterrupt", -2),
}
"""Kernel or launcher report the status; words are the process's own."""

UNMARKED = {
    "terminate": ("crashed", "killed by SIGTERM", -15),
    "kill": ("crashed", "killed by SIGKILL", -9),
    "fault": ("crashed", "killed by SIGSEGV", -11),
    "leave": ("crashed", "the process ended without marking its end, exit code 5", 5),
    "leave well": ("finished", "the process ended without marking its end, exit code 0", 0),
}
"""The process could not record its end, and its parent has collected its status."""


@pytest.fixture(scope="module")
def kernel_reports_exit() -> bool:
    """Linux 6.15 and newer: others than the parent can read how a process ended, also after the parent did."""
    child = os.fork()
    if child == 0:
        signal.pause()
    ending = ProcessEnd(child, None)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    status = ending.status()
    ending.close()
    return status == -signal.SIGKILL


@pytest.mark.parametrize(("how", "workers"), JOBS)
def test_output_exit_code_and_last_words_are_the_jobs_own(
    service: Service, how: str, workers: int, kernel_reports_exit: bool, tmp_path: Path
) -> None:
    arguments = ["--end", how, "--workers", str(workers), "--wait-for", str(tmp_path / "seen")]
    both = start_job(*arguments, UNDERFED_DISABLED="1"), start_job(*arguments)
    # A collector that starts after the process has ended learns less about its end.
    wait_until(lambda: service.windows, "the collector is there")
    (tmp_path / "seen").touch()
    bare, job = (end(each) for each in both)
    assert (job.returncode, job.stdout) == (bare.returncode, bare.stdout)
    assert last_line(job.stderr) == last_line(bare.stderr)
    wait_until(service.ends, "the end arrives")
    assert delivered(service) == list(range(BATCHES.get(how, 4)))
    (recorded,) = service.ends()
    status, reason, code = STATUS[how] if how in STATUS else UNMARKED[how]
    if kernel_reports_exit:
        assert (recorded["status"], recorded.get("exit_code")) == (status, code)
        assert recorded.get("exit_reason", "").startswith(reason or "")
        assert ("exit_reason" in recorded) == (reason is not None)
    elif how in STATUS:
        assert UNREPORTED in recorded["exit_reason"]
    else:
        assert recorded["status"] == "crashed"
        assert recorded["exit_reason"] in (
            reason,
            f"the process ended without marking its end, {UNREPORTED}",
        )


def test_a_worker_that_is_killed_ends_the_job_with_torchs_error(service: Service, go_on: Path) -> None:
    started = start_job("--end", "worker dies", "--workers", "2", "--wait-for", str(go_on))
    wait_until(lambda: service.windows, "the collector is there")
    go_on.touch()
    job = end(started)
    assert job.returncode == 1
    wait_until(service.ends, "the end arrives")
    (recorded,) = service.ends()
    assert (recorded["status"], recorded["exit_code"]) == ("crashed", 1)
    # Torch raises wherever the training is: in a request, while it waits for a batch of the dead worker, before one is
    # printed, and again while the interpreter prints the traceback.
    assert recorded["exit_reason"].partition(":")[0] in job.stderr
    assert 0 <= len(delivered(service)) - len(job.stdout.splitlines()) <= 1


@pytest.mark.parametrize("workers", [0, 2])
def test_every_step_up_to_a_kill_arrives(service: Service, workers: int) -> None:
    """The process kills itself, so what it printed is exactly what it got. The rings hold that much unread."""
    at = 400
    job = end(
        start_job("--length", "8000", "--work-ms", "0.2", "--workers", str(workers), "--end", "kill", "--at", str(at))
    )
    assert job.returncode == -signal.SIGKILL
    assert len(job.stdout.splitlines()) == at + 1
    wait_until(service.ends, "the end arrives")
    assert delivered(service) == list(range(at + 1))
    assert service.windows[-1]["losses"]["dropped_steps"] == 0
    assert service.windows[-1]["losses"]["dropped_batches"] == 0


def test_every_step_up_to_a_kill_from_outside_arrives(service: Service) -> None:
    job = start_job("--length", "40000", "--work-ms", "0.2", "--workers", "1")
    for _ in range(500):
        job.stdout.readline()
    job.kill()
    printed = 500 + len(job.stdout.read().splitlines())
    job.communicate()
    wait_until(service.ends, "the end arrives")
    # A batch may have been handed out and not printed yet.
    assert printed <= len(delivered(service)) <= printed + 1
    assert service.ends()[0]["status"] == "crashed"


@pytest.mark.parametrize(("child", "workers"), [("fork", 0), ("pool", 1), ("program", 1)])
def test_children_that_end_do_not_end_the_run(service: Service, child: str, workers: int) -> None:
    arguments = ["--child", child, "--workers", str(workers)]
    both = start_job(*arguments, UNDERFED_DISABLED="1"), start_job(*arguments)
    bare, job = (end(each) for each in both)
    assert (job.returncode, job.stdout) == (bare.returncode, bare.stdout)
    wait_until(service.ends, "the end arrives")
    assert_all_arrived(service)
    assert len({window["incarnation"] for window in service.windows}) == 1


def test_a_job_in_the_background_does_not_wait_for_its_collector(service: Service) -> None:
    """Whoever reads the job's output sees it end when the job ends, though the collector still sends."""
    service.delay_s = 60.0
    job = end(start_job())
    assert len(job.stdout.splitlines()) == 20
    assert not service.ends()
    service.let_go()
    wait_until(service.ends, "the end arrives")
    assert_all_arrived(service)
