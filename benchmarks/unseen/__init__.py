"""What is said of training jobs that the rules were not written for, beside what an expert says of them.

Every job runs under the agent against a real service of its own, then again with the change that an expert would make:
what that gains is measured beside what was predicted. Half of the jobs are held out: nothing may be tuned on them.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] = ()) -> None:
    # Not at the top: the jobs import this package, too.
    from benchmarks.unseen.score import score
    from benchmarks.unseen.truths import UNSEEN

    parser = argparse.ArgumentParser(prog="python -m benchmarks.unseen", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*(job.name for job in UNSEEN), []])
    parser.add_argument("--keep", type=Path, metavar="DIR", help="directory for a JSON file of each job")
    halves = parser.add_mutually_exclusive_group()
    halves.add_argument("--held-out", action="store_true", help="those that nothing may be tuned on")
    halves.add_argument("--tuning", action="store_true", help="the others")
    parser.add_argument("--repeats", type=int, default=1, help="each setting so often, in turn; medians are compared")
    parser.add_argument("--all-changes", action="store_true", help="measure also what must not be advised")
    parser.add_argument("--steps", type=int, help="instead of each job's own number: to see that it works")
    options = parser.parse_args(arguments)
    jobs = [job for job in UNSEEN if not options.names or job.name in options.names]
    if options.held_out or options.tuning:
        jobs = [job for job in jobs if job.held_out == options.held_out]
    more = ("--steps", str(options.steps)) if options.steps else ()
    with tempfile.TemporaryDirectory() as place:
        keep = options.keep or Path(place)
        keep.mkdir(parents=True, exist_ok=True)
        score(jobs, keep, more=more, repeats=options.repeats, every=options.all_changes)
