"""Measures every pipeline at every setting, several times in turn, and keeps what the agent recorded of each run."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.forked_jobs import ForkedJobs, forked_jobs
from benchmarks.prediction.job import Setting
from benchmarks.prediction.pipelines import WORK, measure_work_s, pipelines
from tests.fakes.service import Service, running_service, wait_until
from underfed.host.calibration import calibrate

PREFETCH = (1, 2, 4, 8)
EPOCH_STEPS = 25

OTHERS_CORES = 0.25
"""More of the machine used by others than this, and a run is measured again, whatever its speed."""
ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: its mean step as the job itself timed it, and the windows that its agent sent."""

    pipeline: str
    setting: Setting
    repeat: int
    step_us: float
    windows: list[dict[str, Any]]


def settings(most_workers: int) -> list[Setting]:
    grid = [Setting(workers, factor) for workers, factor in itertools.product(range(1, most_workers + 1), PREFETCH)]
    epochs = [Setting(0, None, False, EPOCH_STEPS)]
    epochs += [Setting(workers, 2, kept, EPOCH_STEPS) for workers in (1, 2, 4) for kept in (False, True)]
    return [Setting(0), *grid, *epochs]


def measure(directory: Path, repeats: int, most_workers: int, names: Sequence[str]) -> None:
    """Writes a file a run; those that are there already are not measured again."""
    directory.mkdir(parents=True, exist_ok=True)
    os.environ[WORK] = _work_s(directory)
    calibrate(directory)
    known = [pipeline.name for pipeline in pipelines(directory)]
    with (
        running_service() as service,
        forked_jobs(
            "benchmarks.prediction.job",
            directory,
            UNDERFED_URL=service.url,
            UNDERFED_STRICT="1",
            **{WORK: os.environ[WORK]},
        ) as jobs,
    ):
        for repeat in range(repeats):
            turn = list(itertools.product(known, settings(most_workers)))
            random.Random(repeat).shuffle(turn)
            for pipeline, setting in turn:
                path = directory / _name(pipeline, setting, repeat)
                if (not names or pipeline in names) and not path.exists():
                    _measure_one(jobs, service, path, pipeline, setting, repeat)


def _work_s(directory: Path) -> str:
    """The same for runs that are measured later."""
    kept = directory / "work_s"
    if not kept.exists():
        kept.write_text(str(measure_work_s()))
    return kept.read_text().strip()


def read(directory: Path) -> Iterator[Measured]:
    for path in sorted(directory.glob("*.run.json.gz")):
        stored = json.loads(gzip.decompress(path.read_bytes()))
        yield Measured(**{**stored, "setting": Setting(**stored["setting"])})


def _measure_one(jobs: ForkedJobs, service: Service, path: Path, pipeline: str, setting: Setting, repeat: int) -> None:
    for _ in range(ATTEMPTS):
        usage = Usage(jobs.process.pid)
        measured = _run(jobs, service, pipeline, setting, repeat)
        others = usage.others_cores()
        if others <= OTHERS_CORES:
            break
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_bytes(gzip.compress(json.dumps(asdict(measured)).encode()))
    unfinished.rename(path)
    print(f"{path.name[:-12]:60} {measured.step_us / 1e3:8.2f} ms a step, others {others:.2f} cores", file=sys.stderr)


def _run(jobs: ForkedJobs, service: Service, pipeline: str, setting: Setting, repeat: int) -> Measured:
    service.forget()
    order = {"pipeline": pipeline, "setting": asdict(setting)}
    step_us = jobs.ask(f"bench-{time.time_ns()}", order)
    wait_until(service.ends, "the run's end arrives", 60.0)
    return Measured(pipeline, setting, repeat, step_us, list(service.windows))


class Usage:
    """CPU time that the machine uses from now on, without that of jobs that have ended when it is read."""

    def __init__(self, jobs: int) -> None:
        self._jobs = psutil.Process(jobs)
        self._began = time.monotonic(), self._busy_s(), self._jobs_s()

    def others_cores(self) -> float:
        began, busy_s, jobs_s = self._began
        passed = time.monotonic() - began
        return max(0.0, (self._busy_s() - busy_s) - (self._jobs_s() - jobs_s)) / passed

    @staticmethod
    def _busy_s() -> float:
        times = psutil.cpu_times()
        return float(times.user + times.system + times.nice + times.irq + times.softirq)

    def _jobs_s(self) -> float:
        times = self._jobs.cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)


def _name(pipeline: str, setting: Setting, repeat: int) -> str:
    words = [pipeline.replace(" ", "-"), str(setting.num_workers), str(setting.prefetch_factor or 0)]
    words += [f"epochs{'-kept' * setting.persistent_workers}"] if setting.epoch_steps else []
    return f"{'_'.join(words)}_{repeat}.run.json.gz"
