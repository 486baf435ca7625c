"""A companion that dies takes nothing with it: training goes on, and whoever comes next reads on where it stopped."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.fakes.jobs import run_job, run_python, start_job
from tests.fakes.service import Service, wait_until
from tests.fakes.traces import collectors_of

LONG = ("--length", "1600", "--work-ms", "4", "--epochs", "1", "--workers", "1")
LONG_STEPS = 400


def start_long_job(service: Service) -> subprocess.Popen[str]:
    job = start_job(*LONG)
    wait_until(lambda: service.count_steps() > 20, "steps arrive")
    return job


def end_collector(run_id: str, how: signal.Signals) -> None:
    (collector,) = collectors_of(run_id)
    os.kill(collector, how)
    wait_until(lambda: not collectors_of(run_id), "it is gone")


def recorded_once(service: Service) -> set[int]:
    """Step indexes; fails where one came twice."""
    found = [
        steps["first_step_index"] + offset for steps in service.steps() for offset in range(len(steps["data_wait_us"]))
    ]
    assert len(found) == len(set(found))
    return set(found)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_training_goes_on_and_push_brings_the_rest(service: Service, run_id: str, how: signal.Signals) -> None:
    job = start_long_job(service)
    end_collector(run_id, how)
    before = service.count_steps()
    output, errors = job.communicate(timeout=60)
    assert job.returncode == 0
    assert len(output.splitlines()) == LONG_STEPS
    assert "`underfed push` sends it" in errors.splitlines()[-1]
    assert service.count_steps() == before
    pushed = run_python("-m", "underfed.cli", "push")
    assert pushed.returncode == 0, pushed.stderr
    found = recorded_once(service)
    lost = service.windows[-1]["losses"]["dropped_steps"]
    # What it had read and not yet put into a window died with it: at most what it reads in one second.
    assert len(found) + lost == LONG_STEPS
    assert lost <= 250
    assert service.ends() == [{"status": "finished"}]
    assert [window["window_index"] for window in service.windows] == list(range(len(service.windows)))
    assert service.epochs()["train", 0]["ended"] == "exhausted"
    assert service.epochs()["train", 0]["steps"] == LONG_STEPS


def test_the_next_companion_of_the_run_takes_over(service: Service, run_id: str) -> None:
    job = start_long_job(service)
    end_collector(run_id, signal.SIGKILL)
    # Another rank of the run starts one; it serves both.
    other = run_job(RANK="1", LOCAL_RANK="1", WORLD_SIZE="2")
    assert other.returncode == 0
    job.communicate(timeout=60)
    wait_until(lambda: len(service.ends()) == 2, "both end")
    found = recorded_once(service)
    (last,) = [window for window in service.windows if window["rank"] == 0 and "end" in window]
    assert len(found) + last["losses"]["dropped_steps"] == LONG_STEPS
    assert sum(len(steps["data_wait_us"]) for steps in service.steps(rank=1)) == 20


def test_a_companion_that_cannot_start_is_counted(service: Service, run_id: str) -> None:
    program = (
        "import sys, runpy; sys.executable = '/nowhere/python'; sys.argv = ['training']; "
        "runpy.run_module('tests.fakes.training', run_name='__main__')"
    )
    job = run_python("-c", program)
    assert (job.returncode, len(job.stdout.splitlines())) == (0, 20)
    assert "`underfed push` sends it" in job.stderr.splitlines()[-1]
    assert run_python("-m", "underfed.cli", "push").returncode == 0
    assert service.count_steps() == 20
    assert service.ends() == [{"status": "finished"}]
