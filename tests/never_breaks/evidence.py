"""What is checked after a job: it ran as it does without the agent, and each of its steps arrived or is counted."""

from __future__ import annotations

from functools import cache

from tests.fakes.forkserver import Job, start
from tests.fakes.jobs import Done, end, environment, run_job
from tests.fakes.service import Service

STEPS = 20
"""Steps of a job without arguments."""


def start_confined(*arguments: str, job: tuple[str, ...] = (), **variables: str) -> Job:
    """``tests.fakes.confined`` with its ``arguments``, and in it the job with those of its own."""
    return start("tests.fakes.confined", [*arguments, "--", *job], environment(**variables))


def said(job: Done) -> list[str]:
    """Our own lines."""
    return [line for line in job.stderr.splitlines() if "underfed: " in line]


@cache
def bare(*arguments: str) -> Done:
    """The job without the agent, and without its work, which changes nothing of what it prints."""
    return run_job(*arguments, "--work-ms", "0", UNDERFED_DISABLED="1")


def assert_untouched(job: Done, *arguments: str) -> None:
    """The same batches in the same order, and the same exit code."""
    expected = bare(*arguments)
    assert (job.returncode, job.stdout) == (expected.returncode, expected.stdout)


def delivered(service: Service, rank: int = 0) -> list[int]:
    """Step indexes of a loader's only incarnation, in order and each once."""
    found = [
        steps["first_step_index"] + offset
        for steps in service.steps(rank=rank)
        for offset in range(len(steps["data_wait_us"]))
    ]
    assert found == sorted(set(found))
    return found


def assert_all_arrived(service: Service, steps: int = STEPS) -> None:
    """Nothing is missing, nothing came twice, and windows came in the order of their numbers."""
    assert delivered(service) == list(range(steps))
    assert window_indexes(service) == list(range(len(service.windows)))
    assert set(service.windows[-1]["losses"].values()) == {0}
    (ended,) = service.ends()
    assert ended["status"] == "finished"


def window_indexes(service: Service) -> list[int]:
    return [window["window_index"] for window in service.windows]


def missing_windows(service: Service) -> int:
    """Numbers that were given to windows and did not arrive."""
    found = window_indexes(service)
    assert found == sorted(set(found))
    return found[-1] + 1 - len(found)


def assert_accounted_for(service: Service, steps: int) -> int:
    """Each step arrived once or is counted as dropped. Returns how many are."""
    losses = service.windows[-1]["losses"]
    assert len(delivered(service)) + losses["dropped_steps"] == steps
    assert window_indexes(service) == list(range(len(service.windows)))
    assert losses["dropped_windows"] == 0
    return int(losses["dropped_steps"])


def push(*arguments: str, **variables: str) -> Done:
    """``underfed push``, by a Python that has imported it."""
    launcher = "tests.fakes.imported_launcher"
    return end(start("underfed.commands.cli", ["push", *arguments], environment(**variables), imported=launcher))
