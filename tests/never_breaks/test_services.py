"""Whatever the service does, training goes on, and what was recorded arrives or is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.jobs import run_job, run_python, start_job
from tests.fakes.service import Fault, Service, wait_until
from tests.fakes.traces import collectors_of

ALL_STEPS = 20


def push(*arguments: str) -> tuple[int, str, str]:
    done = run_python("-m", "underfed.cli", "push", *arguments)
    return done.returncode, done.stdout, done.stderr


def spools(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "data" / "spool").glob("*"))


def test_a_service_that_was_never_there_costs_one_line_at_the_end(
    service: Service, run_id: str, tmp_path: Path
) -> None:
    service.stop()
    job = run_job()
    assert (job.returncode, len(job.stdout.splitlines())) == (0, ALL_STEPS)
    lines = [line for line in job.stderr.splitlines() if line.startswith("underfed: ")]
    assert lines[0] == f"underfed: run training at {service.url}/runs/{run_id}"
    assert len(lines) == 2
    assert "left to send" in lines[1]
    assert str(tmp_path / "data") in lines[1]
    assert "`underfed push` sends them" in lines[1]


def test_what_was_kept_is_pushed_later(service: Service, run_id: str, tmp_path: Path) -> None:
    service.stop()
    run_job()
    wait_until(lambda: not collectors_of(run_id), "the companion ends")
    code, _, errors = push()
    assert code == 1
    assert f"windows of {run_id} are left" in errors
    assert "refused" in errors
    service.start()
    code, output, _ = push()
    assert (code, service.count_steps(), len(service.ends())) == (0, ALL_STEPS, 1)
    assert output.startswith(f"{run_id}: ")
    assert spools(tmp_path) == []
    assert push()[:2] == (0, f"There is nothing to send in {tmp_path / 'data'}.\n")


def test_a_service_that_is_killed_and_restarted_gets_everything_once(service: Service) -> None:
    job = start_job("--length", "1200", "--work-ms", "5", "--epochs", "1", UNDERFED_LINGER_S="20")
    wait_until(lambda: service.count_steps() > 0, "the first steps arrive")
    service.stop()
    seen = len(service.windows)
    assert job.wait(timeout=60) == 0
    output, _ = job.communicate()
    assert len(output.splitlines()) == 300
    assert len(service.windows) == seen
    service.start()
    wait_until(service.ends, "everything arrives")
    assert service.count_steps() == 300
    assert [window["window_index"] for window in service.windows] == list(range(len(service.windows)))


@pytest.mark.parametrize("status", [401, 503, 0])
def test_a_service_that_only_refuses_gets_everything_later(service: Service, status: int, run_id: str) -> None:
    service.always = Fault(status, {"error": {"code": "x", "message": "no"}}, {"Retry-After": "1"})
    job = run_job()
    assert (job.returncode, len(job.stdout.splitlines())) == (0, ALL_STEPS)
    wait_until(lambda: not collectors_of(run_id), "the companion ends")
    service.always = None
    assert push()[0] == 0
    assert service.count_steps() == ALL_STEPS


def test_windows_that_a_service_refused_for_ever_are_put_aside(service: Service, tmp_path: Path, run_id: str) -> None:
    service.always = Fault(400, {"error": {"code": "invalid", "message": "no"}})
    job = run_job()
    assert (job.returncode, len(job.stdout.splitlines())) == (0, ALL_STEPS)
    wait_until(lambda: not collectors_of(run_id), "the companion ends")
    (spool,) = spools(tmp_path)
    assert list((spool / "rejected").iterdir())
    assert push()[0] == 0


def test_a_slow_service_delays_nobody_but_itself(service: Service) -> None:
    service.delay_s = 0.7
    job = run_job("--length", "400", "--work-ms", "10", "--epochs", "1", UNDERFED_LINGER_S="20")
    assert job.returncode == 0
    wait_until(service.ends, "the end arrives", timeout_s=30)
    assert service.count_steps() == 100
    assert service.windows[-1]["losses"] == dict.fromkeys(service.windows[-1]["losses"], 0)


def test_a_data_directory_that_cannot_be_written_is_replaced(service: Service, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    job = run_job(UNDERFED_DIR=str(tmp_path / "file" / "data"))
    assert job.returncode == 0
    wait_until(service.ends, "the end arrives")
    assert service.count_steps() == ALL_STEPS


def test_no_place_for_rings_is_said_once_and_training_goes_on(service: Service, tmp_path: Path) -> None:
    program = (
        "from pathlib import Path; import underfed.rundir as rundir; "
        f"rundir.find_root = lambda *_: Path({str(tmp_path / 'file')!r}); "
        "import sys, runpy; sys.argv = ['training']; runpy.run_module('tests.fakes.training', run_name='__main__')"
    )
    (tmp_path / "file").touch()
    job = run_python("-c", program)
    assert (job.returncode, len(job.stdout.splitlines())) == (0, ALL_STEPS)
    assert [line for line in job.stderr.splitlines() if "underfed" in line] == [
        f"underfed: nothing is recorded: {job.stderr.partition('recorded: ')[2].strip()}"
    ]
    assert service.windows == []


def test_a_spool_of_another_run_is_pushed_with_it(service: Service, tmp_path: Path) -> None:
    service.stop()
    for name in ("one", "two"):
        run_job(UNDERFED_RUN_ID=name)
        wait_until(lambda name=name: not collectors_of(name), "the companion ends")  # type: ignore[misc]
    service.start()
    code, output, _ = push(str(tmp_path / "data"))
    assert code == 0
    assert [line.partition(":")[0] for line in output.splitlines()] == ["one", "two"]
    assert json.dumps(sorted({window["run_id"] for window in service.windows})) == '["one", "two"]'
