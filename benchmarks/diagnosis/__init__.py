"""How often the verdict is right: every scenario pipeline at every strength, judged as a user's job is.

Run it as ``python -m benchmarks.diagnosis``. Each run is a job of its own, recorded by the agent, sent to a service and
judged there. What its verdict should be is known: the one problem of its pipeline, or none. Pipelines of
``synthetic`` are windows as an agent would send them, because they need a device or another machine. With ``--outcomes
FILE`` verdicts are kept there, one a line, and those of earlier calls count too: a long table can be made in parts.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.diagnosis.outcome import Outcome, kept, outcome_of
from benchmarks.diagnosis.table import print_tables
from tests.app.serving import start_service
from tests.scenarios.pipelines.pipeline import STRENGTHS, Strength, names
from tests.scenarios.pipelines.running import diagnose


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.diagnosis", description=__doc__)
    parser.add_argument("--pipelines", nargs="*", choices=names(), default=names(), metavar="NAME")
    parser.add_argument("--strengths", nargs="*", choices=STRENGTHS, default=STRENGTHS)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--outcomes", type=Path, help="a file that keeps verdicts, and is read first")
    options = parser.parse_args(argv)
    cases = [
        (name, strength) for _ in range(options.repeats) for name in options.pipelines for strength in options.strengths
    ]
    outcomes = [*kept(options.outcomes), *judge_all(cases, options.outcomes)]
    print_tables(outcomes)


def judge_all(cases: Sequence[tuple[str, Strength]], outcomes: Path | None) -> Iterator[Outcome]:
    """A job that fails is reported and left out: it has no verdict."""
    if not cases:
        return
    with tempfile.TemporaryDirectory() as directory:
        service = start_service(Path(directory, "underfed.db"))
        try:
            for name, strength in cases:
                try:
                    diagnosis = diagnose(name, strength, address=service.address, directory=Path(directory))
                except subprocess.SubprocessError as error:
                    print(f"{name} {strength}: {error}", flush=True)
                    continue
                outcome = outcome_of(name, strength, diagnosis)
                print(outcome.line(), flush=True)
                if outcomes is not None:
                    with outcomes.open("a") as stream:
                        stream.write(outcome.json() + "\n")
                yield outcome
        finally:
            service.kill()
