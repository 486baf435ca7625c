"""Measures the static settings of each pipeline, then trainings that tune themselves from the worst and the default."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.forked_jobs import ForkedJobs, forked_jobs
from benchmarks.prediction.pipelines import WORK, measure_work_s, pipelines
from benchmarks.tune.job import Order
from tests.app.serving import judged, launch, started
from underfed.host.calibration import calibrate
from underfed_server.model import Tuning
from underfed_server.terminal.client import Client

SETTLING = 12
"""Steps left out at the start, beside those that empty a full queue."""

ENDLESS = 100_000


class Static(NamedTuple):
    num_workers: int
    prefetch_factor: int | None

    def __str__(self) -> str:
        return f"{self.num_workers} × {self.prefetch_factor}" if self.num_workers else "0"

    @property
    def settling(self) -> int:
        return SETTLING + self.num_workers * (self.prefetch_factor or 0)


DEFAULT = Static(0, None)


@dataclass(frozen=True, slots=True)
class Plan:
    seconds: float
    """Of a run with the best static setting: as many steps has each tuned one."""
    static_seconds: float
    repeats: int
    most_workers: int


@dataclass(frozen=True, slots=True)
class Tuned:
    """One training that tuned itself."""

    pipeline: str
    start: Static
    is_worst: bool
    best: Static
    best_step_s: tuple[float, float]
    """Measured before and after it."""
    start_step_s: float
    after_step_s: float
    """Mean step since it kept something, or since the start."""
    whole_s: float
    steps: int
    wrong: int
    tuning: Tuning | None


def measure(directory: Path, plan: Plan, names: Sequence[str]) -> list[Tuned]:
    os.environ[WORK] = str(measure_work_s())
    calibrate(directory)
    service = started(launch(directory / "underfed.db"))
    try:
        variables = {"UNDERFED_URL": service.address, WORK: os.environ[WORK]}
        with forked_jobs("benchmarks.tune.job", directory, **variables) as jobs:
            return [
                tuned
                for pipeline in pipelines(directory)
                if not names or pipeline.name in names
                for tuned in _of_pipeline(_Trainer(jobs, Client(service.address), pipeline.name), plan)
            ]
    finally:
        service.kill()


@dataclass(frozen=True, slots=True)
class _Trainer:
    jobs: ForkedJobs
    client: Client
    pipeline: str

    def static_step_s(self, setting: Static, seconds: float) -> float:
        ends = self._run(setting, steps=ENDLESS, seconds=seconds)[1]["ends_s"]
        return _mean_step_s(ends, setting.settling)

    def tuned(self, setting: Static, steps: int) -> tuple[str, Mapping[str, Any]]:
        return self._run(setting, steps=steps, tune=True)

    def _run(
        self, setting: Static, *, steps: int, seconds: float | None = None, tune: bool = False
    ) -> tuple[str, Mapping[str, Any]]:
        run_id = f"bench-{time.time_ns()}"
        return run_id, self.jobs.ask(run_id, asdict(Order(self.pipeline, *setting, steps, seconds, tune)))


def _of_pipeline(trainer: _Trainer, plan: Plan) -> Iterator[Tuned]:
    steps_s = {each: trainer.static_step_s(each, plan.static_seconds) for each in _settings(plan.most_workers)}
    for setting, step_s in steps_s.items():
        print(f"{trainer.pipeline:20} {setting!s:6} {step_s * 1e3:8.2f} ms a step", file=sys.stderr)
    best, worst = min(steps_s, key=lambda each: steps_s[each]), max(steps_s, key=lambda each: steps_s[each])
    for _ in range(plan.repeats):
        for start in dict.fromkeys((worst, DEFAULT)):
            yield _tuned(trainer, plan, start, worst, best, steps_s[start])


def _settings(most_workers: int) -> list[Static]:
    return [DEFAULT, *(Static(workers, factor) for workers in range(1, most_workers + 1) for factor in (2, 8))]


def _tuned(trainer: _Trainer, plan: Plan, start: Static, worst: Static, best: Static, start_step_s: float) -> Tuned:
    before = trainer.static_step_s(best, plan.static_seconds)
    steps = max(2 * SETTLING, round(plan.seconds / before))
    run_id, result = trainer.tuned(start, steps)
    diagnosis = judged(trainer.client, run_id)
    tuning = diagnosis.tuning
    after = trainer.static_step_s(best, plan.static_seconds)
    ends = result["ends_s"]
    kept_from = (tuning.kept_from_step if tuning else None) or start.settling
    print(f"{trainer.pipeline:20} tuned from {start}: {ends[-1]:.0f} s for {steps} steps", file=sys.stderr)
    for trial in diagnosis.trials:
        pace = f"{1e3 / trial.steps_per_s:.2f} ms a step" if trial.steps_per_s else "not measured"
        print(f"    {trial.settings}, {trial.steps} steps: {pace}; {trial.reason or 'stays'}", file=sys.stderr)
    return Tuned(
        pipeline=trainer.pipeline,
        start=start,
        is_worst=start == worst,
        best=best,
        best_step_s=(before, after),
        start_step_s=start_step_s,
        after_step_s=_mean_step_s(ends, kept_from + SETTLING),
        whole_s=ends[-1],
        steps=len(ends),
        wrong=result["wrong"],
        tuning=tuning,
    )


def _mean_step_s(ends_s: Sequence[float], first: int) -> float:
    """From step ``first`` on; of all of them where there are no more."""
    settled = ends_s[first:] if len(ends_s) > first + 1 else ends_s
    return (settled[-1] - settled[0]) / (len(settled) - 1)
