"""However training ends, it ends as it would have without the agent, and the run says how."""

from __future__ import annotations

import re

import pytest

from tests.fakes.jobs import last_line, start_job
from tests.fakes.service import Service, wait_until

ENDS = ["normally", "break", "raise", "loader raises", "exit 3", "interrupt", "kill", "leave"]
JOBS = [(end, 0) for end in ENDS] + [("normally", 2), ("loader raises", 2), ("interrupt", 2)]

BATCHES = {"normally": 20, "break": 8, "loader raises": 4}
"""Of ten an epoch; the others end at the fourth."""

STATUS = {
    "normally": ("finished", None, None),
    "break": ("finished", None, None),
    "raise": ("crashed", "ValueError: the loss is not a number", 1),
    "loader raises": ("crashed", "ValueError: ", 1),
    "exit 3": ("finished", None, None),
    "interrupt": ("crashed", "KeyboardInterrupt", 130),
}


@pytest.mark.parametrize(("end", "workers"), JOBS)
def test_output_exit_code_and_last_words_are_the_jobs_own(service: Service, end: str, workers: int) -> None:
    arguments = ["--end", end, "--workers", str(workers)]
    both = start_job(*arguments, UNDERFED_DISABLED="1"), start_job(*arguments)
    (bare_output, bare_errors), (output, errors) = [job.communicate(timeout=60) for job in both]
    assert both[1].returncode == both[0].returncode
    assert output == bare_output
    assert last_line(errors) == last_line(bare_errors)
    wait_until(service.ends, "the end arrives")
    assert service.count_steps() == BATCHES.get(end, 4)
    (told,) = service.ends()
    if end in STATUS:
        status, reason, code = STATUS[end]
        assert (told["status"], told.get("exit_code")) == (status, code)
        assert told.get("exit_reason", "").startswith(reason or "")
        assert ("exit_reason" in told) == (reason is not None)
    else:
        assert told["status"] == "crashed"
        # The parent may have collected the exit status before anyone else could read it.
        assert re.search("SIGKILL|exit code 5|without a word", told["exit_reason"])


def test_after_a_kill_every_step_up_to_it_arrives(service: Service) -> None:
    job = start_job("--length", "40000", "--work-ms", "0.2", "--workers", "1")
    assert job.stdout is not None
    for _ in range(500):
        job.stdout.readline()
    job.kill()
    printed = 500 + len(job.stdout.read().splitlines())
    job.communicate()
    wait_until(service.ends, "the end arrives")
    # A batch may have been given out and not printed yet.
    assert printed <= service.count_steps() <= printed + 1
    (end,) = service.ends()
    assert end["status"] == "crashed"
    assert service.windows[-1]["losses"]["dropped_steps"] == 0


def test_a_job_in_the_background_is_not_held_up_by_its_companion(service: Service) -> None:
    """Whoever reads the job's output sees it end when the job ends, though the companion still sends."""
    service.delay_s = 2.0
    job = start_job()
    output, _ = job.communicate(timeout=30)
    assert len(output.splitlines()) == 20
    assert not service.ends()
    service.delay_s = 0.0
    wait_until(service.ends, "the end arrives")
