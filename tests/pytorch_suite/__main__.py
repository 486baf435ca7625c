"""Runs PyTorch's own tests of the DataLoader without and with the agent, and compares them test for test.

    python -m tests.pytorch_suite PATH/test_dataloader.py [-k EXPRESSION] [--reports DIRECTORY]

The file is PyTorch's (``test/test_dataloader.py`` of the installed release; it must keep its name) and needs
``expecttest`` beside pytest. It is run as it is; the second time under ``underfed run``, which records every loader in
every process, and looks all the time what workers execute.

Tests that differ are run again, alternating, since some of PyTorch's hang on time. A pass takes minutes.
Exits with 1 where a test differs in every repetition, or where nothing was recorded.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fakes.environment import clean_environment
from tests.fakes.service import Service, Stream, Window, running_service
from tests.pytorch_suite.outcomes import Difference, Outcomes, differences, read_outcomes, summary

PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:timeout", "-c", os.devnull)
"""None of our own settings: warnings are no errors, and PyTorch's tests have time-outs of their own."""

ROOT = Path(__file__).parents[2]
ALL_LOADERS = "tests.pytorch_suite.all_loaders"


@dataclass(frozen=True, slots=True)
class Pass:
    """One run of the file. ``records``: what was recorded of it, in words; empty without the agent or a record."""

    outcomes: Outcomes
    elapsed_s: float
    records: str


def main() -> int:
    options = parse(sys.argv[1:])
    options.reports.mkdir(parents=True, exist_ok=True)
    selection = ["-k", options.k] if options.k else []
    bare = run_bare(options.file, options.reports / "bare.xml", selection)
    print(f"without: {summary(bare.outcomes.values())} in {bare.elapsed_s:.0f} s", flush=True)
    recorded = run_recorded(options.file, options.reports / "recorded.xml", selection)
    print(f"with:    {summary(recorded.outcomes.values())} in {recorded.elapsed_s:.0f} s", flush=True)
    print(f"recorded: {recorded.records or 'nothing'}", flush=True)
    found = differences(bare.outcomes, recorded.outcomes)
    print(f"different: {len(found)} of {len(bare.outcomes)}", flush=True)
    lasting = [difference for difference in found if is_lasting(difference, options)]
    return 1 if lasting or not recorded.records or not bare.outcomes else 0


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.pytorch_suite")
    parser.add_argument("file", type=Path, help="PyTorch's test/test_dataloader.py")
    parser.add_argument("-k", default="", help="only these tests, as pytest's -k takes them")
    parser.add_argument("--reports", type=Path, default=Path("reports"), help="where pytest's reports and output go")
    parser.add_argument("--repetitions", type=int, default=3, help="of tests that differ; default: 3")
    return parser.parse_args(words)


def run_bare(file: Path, report: Path, selection: Sequence[str]) -> Pass:
    started = time.monotonic()
    environment = clean_environment(UNDERFED_DISABLED="1", PYTHONPATH=str(ROOT))
    outcomes = run_pytest([sys.executable], file, report, selection, environment)
    return Pass(outcomes, time.monotonic() - started, "")


def run_recorded(file: Path, report: Path, selection: Sequence[str]) -> Pass:
    """Under ``underfed run``, with a service of its own that counts what arrives."""
    started = time.monotonic()
    with running_service() as service, TemporaryDirectory(prefix="underfed-suite-", dir="/dev/shm") as directory:
        places = {"UNDERFED_URL": service.url, "UNDERFED_DIR": directory, "UNDERFED_RINGS": directory}
        environment = clean_environment(**places, UNDERFED_STACKS="always", PYTHONPATH=str(ROOT))
        command = [sys.executable, "-m", "underfed.commands.cli", "run", "--", sys.executable]
        outcomes = run_pytest(command, file, report, ["-p", ALL_LOADERS, *selection], environment)
        elapsed_s = time.monotonic() - started
        wait_until_quiet(service)
        return Pass(outcomes, elapsed_s, count_records(service))


def run_pytest(
    command: Sequence[str], file: Path, report: Path, selection: Sequence[str], environment: dict[str, str]
) -> Outcomes:
    """In the file's directory: it imports itself by its name. What pytest prints is kept beside the report."""
    report.unlink(missing_ok=True)
    with report.with_suffix(".log").open("w") as log:
        subprocess.run(
            [*command, *PYTEST, f"--junitxml={report.absolute()}", *selection, file.name],
            cwd=file.absolute().parent,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    return read_outcomes(report)


def wait_until_quiet(service: Service, quiet_s: float = 3.0) -> None:
    """Collectors send a little longer than their runs last."""
    posts = -1
    while service.posts != posts:
        posts = service.posts
        time.sleep(quiet_s)


def count_records(service: Service) -> str:
    steps, batches = service.count_steps(), sum(len(batches["load_us"]) for batches in service.batches())
    processes = {stream(window) for window in service.windows if window.get("steps")}
    errors = sum({stream(window): window["losses"]["agent_errors"] for window in service.windows}.values())
    counts = f"{steps} steps and {batches} loaded batches in {len(processes)} processes, {errors} failures of the agent"
    return counts if steps and batches else ""


def stream(window: Window) -> Stream:
    return window["run_id"], window["rank"], window["incarnation"]


def is_lasting(difference: Difference, options: argparse.Namespace) -> bool:
    """Whether repetitions still distinguish the two: none with the agent ends as any without it does."""
    print(f"  {difference.test}: {difference.bare} without, {difference.recorded} with", flush=True)
    selection = ["-k", difference.test.rpartition("::")[2]]
    bare, recorded = set(), set()
    for _ in range(options.repetitions):
        report = options.reports / "again.xml"
        bare.add(run_bare(options.file, report, selection).outcomes.get(difference.test))
        recorded.add(run_recorded(options.file, report, selection).outcomes.get(difference.test))
    print(f"    again, {options.repetitions} times: {words(bare)} without, {words(recorded)} with", flush=True)
    return not bare & recorded


def words(outcomes: set[str | None]) -> str:
    return " or ".join(sorted(str(outcome) for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
