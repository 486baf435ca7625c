"""Starts training jobs as processes of their own, as a user's shell would."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.forkserver import Job, start

ROOT = Path(__file__).parents[2]


def environment(**variables: str) -> dict[str, str]:
    """The environment of this process, with this checkout on its path."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **variables}


def start_job(*arguments: str, **variables: str) -> Job:
    """``tests.fakes.training``; the caller waits for it."""
    return start("tests.fakes.training", arguments, environment(**variables))


@dataclass(frozen=True)
class Done:
    """A job that has ended."""

    returncode: int
    stdout: str
    stderr: str


def run_job(*arguments: str, **variables: str) -> Done:
    return end(start_job(*arguments, **variables))


def end(job: Job) -> Done:
    """Wait for it."""
    output, errors = job.communicate()
    assert job.returncode is not None
    return Done(job.returncode, output, errors)


def run_text(program: str, *arguments: str, **variables: str) -> Done:
    """As ``python -c program``, where nothing depends on how torch is imported: that is done already."""
    return end(start("tests.fakes.text", [program, *arguments], environment(**variables)))


def run_python(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def last_line(errors: str) -> str:
    """The last line of a program's output, without the agent's own lines."""
    lines = [line for line in errors.splitlines() if not line.startswith("underfed: ")]
    return lines[-1] if lines else ""
