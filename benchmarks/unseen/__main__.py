"""Runs unseen jobs under the agent against a real service, and what an expert would change; prints a row for each.

python -m benchmarks.unseen [NAME …] --keep DIR [--held-out | --tuning] [--repeats N] [--all-changes]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from benchmarks.unseen import UNSEEN, Change, Unseen
from benchmarks.unseen.rows import HEADER, Outcome, row
from benchmarks.unseen.trial import RealService, speed_of, train


def changes_to_measure(job: Unseen, *, every: bool) -> list[Change]:
    """The first that helps; or all that can be carried out, those which must not be advised among them."""
    truth = job.truth
    possible = [change for change in (*truth.helps, *truth.never) if change.arguments]
    return possible if every else [change for change in truth.helps if change.arguments][:1]


def judged(job: Unseen, folder: Path, *, more: tuple[str, ...], repeats: int, every: bool) -> Outcome:
    """One job against a service of its own: no other run's host, storage or history is in what it says."""
    with RealService(folder / "service") as service:
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


def chosen(args: argparse.Namespace) -> list[Unseen]:
    jobs = [job for job in UNSEEN if not args.names or job.name in args.names]
    unknown = set(args.names) - {job.name for job in UNSEEN}
    if unknown:
        raise SystemExit(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(job.name for job in UNSEEN)}")
    if args.held_out:
        return [job for job in jobs if job.held_out]
    return [job for job in jobs if not job.held_out] if args.tuning else jobs


def parsed() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(prog="python -m benchmarks.unseen", description=__doc__)
    arguments.add_argument("names", nargs="*", metavar="NAME")
    arguments.add_argument("--keep", type=Path, required=True, metavar="DIR", help="a JSON file for each job")
    halves = arguments.add_mutually_exclusive_group()
    halves.add_argument("--held-out", action="store_true", help="those that nothing may be tuned on")
    halves.add_argument("--tuning", action="store_true", help="the others")
    arguments.add_argument(
        "--repeats", type=int, default=1, help="each setting so often, in turn; medians are compared"
    )
    arguments.add_argument("--all-changes", action="store_true", help="measure also what must not be advised")
    arguments.add_argument("--steps", type=int, help="instead of each job's own number: to see that it works")
    args: argparse.Namespace = arguments.parse_args()
    return args


def main() -> None:
    args = parsed()
    args.keep.mkdir(parents=True, exist_ok=True)
    more = ("--steps", str(args.steps)) if args.steps else ()
    print(HEADER, flush=True)
    for job in chosen(args):
        with tempfile.TemporaryDirectory(prefix="unseen-") as folder:
            try:
                outcome = judged(job, Path(folder), more=more, repeats=args.repeats, every=args.all_changes)
            except (RuntimeError, OSError, TimeoutError) as error:
                print(f"| {job.name} | did not run: {str(error)[-300:]!r} |", flush=True)
                continue
        (args.keep / f"{job.name}.json").write_text(outcome.as_json())
        print(row(outcome), flush=True)


if __name__ == "__main__":
    main()
