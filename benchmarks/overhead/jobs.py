"""Jobs under measurement: processes of their own, with a service beside them that answers at once."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.fakes.environment import clean_environment
from tests.fakes.service import Service, running_service, wait_until

ROOT = Path(__file__).parents[2]
NICE = -10
"""Give the job priority over other users of the machine, where that is allowed."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A service, and a directory for what the agent keeps."""

    service: Service
    directory: Path
    run_id: str

    def start(self, *command: str, **variables: str) -> subprocess.Popen[str]:
        """``python COMMAND``; its stdout is a pipe, its stderr shows what went wrong."""
        environment = clean_environment(
            UNDERFED_URL=self.service.url,
            UNDERFED_DIR=str(self.directory),
            UNDERFED_RUN_ID=self.run_id,
            UNDERFED_STRICT="1",
            PYTHONWARNINGS="ignore",
            **variables,
        )
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
        with (self.directory / "stderr").open("a") as errors:
            return subprocess.Popen(
                [sys.executable, *command],
                cwd=ROOT,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=errors,
                stdin=subprocess.DEVNULL,
                text=True,
            )

    def run(self, *command: str) -> dict[str, Any]:
        """What the job printed last, as JSON.

        Raises:
            SystemExit: it failed.
        """
        job = self.start(*command)
        prefer(job)
        output, _ = job.communicate()
        if job.returncode:
            sys.exit((self.directory / "stderr").read_text()[-3000:])
        result: dict[str, Any] = json.loads(output.splitlines()[-1])
        return result

    def reported_us(self) -> float | None:
        """``overhead_us`` of the run, over its steps; without the first window, in which each step is sampled."""
        wait_until(self.service.ends, "the run's end arrives", 60.0)
        windows = self.service.windows[1:]
        counts = [sum(len(steps["step_us"]) for steps in window.get("steps", [])) for window in windows]
        reported = [(window.get("overhead_us"), count) for window, count in zip(windows, counts, strict=True) if count]
        known = [(value, count) for value, count in reported if value is not None]
        return statistics.fmean(*zip(*known, strict=True)) if known else None

    def collector(self) -> psutil.Process:
        """The collector of the run."""
        found: list[psutil.Process] = []

        def find() -> bool:
            processes = psutil.process_iter(["cmdline"])
            found[:] = [each for each in processes if _is_collector(each.info["cmdline"] or [], self.run_id)]
            return bool(found)

        wait_until(find, "the collector starts", 60.0)
        return found[0]


@contextmanager
def bench() -> Iterator[Bench]:
    with running_service() as service, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        yield Bench(service, Path(directory), f"overhead-{os.getpid()}-{time.monotonic_ns()}")


def prefer(job: subprocess.Popen[str]) -> None:
    """Its workers inherit that; its collector adds ten."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, job.pid, NICE)


def wait_out(is_so: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not is_so():
        time.sleep(0.05)


def load() -> str:
    """Load average of the machine over the last minute."""
    return f"load {os.getloadavg()[0]:.1f}"


def _is_collector(words: list[str], run_id: str) -> bool:
    return any(word.endswith(f"/{run_id}") for word in words)
