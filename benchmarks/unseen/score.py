"""Runs unseen jobs under the agent against a real service, and what an expert would change; prints a row for each."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.unseen.rows import HEADER, Outcome, row
from benchmarks.unseen.trial import RealService, speed_of, train
from benchmarks.unseen.truths import Change, Unseen


def changes_to_measure(job: Unseen, *, every: bool) -> list[Change]:
    """The first that helps; or all that can be carried out, those which must not be advised among them."""
    truth = job.truth
    possible = [change for change in (*truth.helps, *truth.never) if change.arguments]
    return possible if every else [change for change in truth.helps if change.arguments][:1]


def judged(job: Unseen, folder: Path, *, more: tuple[str, ...], repeats: int, every: bool) -> Outcome:
    """One job against a service of its own: no other run's host, storage or history is in what it says."""
    with RealService(folder / "service", "unseen") as service:
        before = [train(job, more, data=folder / "data", service=service)]
        run = service.finished_run()
        diagnosis = service.diagnosis(run["run_id"])
        changes = changes_to_measure(job, every=every)
        after: list[list[float]] = [[] for _ in changes]
        for attempt in range(repeats):
            if attempt:
                before.append(train(job, more, data=folder / "data", service=service))
            for speeds, change in zip(after, changes, strict=True):
                printed = train(job, (*more, *change.arguments), data=folder / "data", service=service)
                speeds.append(speed_of(printed))
    usual = statistics.median(speed_of(printed) for printed in before)
    gains = [(change, statistics.median(speeds) / usual) for change, speeds in zip(changes, after, strict=True)]
    return Outcome(job, run, diagnosis, before[0], gains)


def score(jobs: Sequence[Unseen], keep: Path, *, more: tuple[str, ...], repeats: int, every: bool) -> None:
    """``keep``: a JSON file for each job is written there."""
    print(HEADER, flush=True)
    for job in jobs:
        with tempfile.TemporaryDirectory(prefix="unseen-") as folder:
            try:
                outcome = judged(job, Path(folder), more=more, repeats=repeats, every=every)
            except (RuntimeError, OSError, TimeoutError) as error:
                print(f"| {job.name} | did not run: {str(error)[-300:]!r} |", flush=True)
                continue
        (keep / f"{job.name}.json").write_text(outcome.as_json())
        print(row(outcome), flush=True)
