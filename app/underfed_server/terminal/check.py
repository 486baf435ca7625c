"""``underfed check``: a gate for scripts and CI, by limits on what a run loses and on how much slower it became."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from underfed_server import figures
from underfed_server.diagnosis.chosen_loader import stall_of
from underfed_server.errors import UnderfedError
from underfed_server.model import Comparison, Diagnosis
from underfed_server.terminal.client import Client, client_from_environment
from underfed_server.terminal.console import plain

HOLDS, FAILS, UNKNOWN = 0, 1, 2
"""Exit codes."""

MOST_DIGITS = 6
"""After the point of a percentage."""

WAITED_S, POLL_S = 30.0, 0.5
"""How long the last windows of a run that has just ended are waited for, and how often the service is asked."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit, and whether it holds; ``None``: that is not known. Fractions; ``low`` and ``high`` are the ends of
    the 95 % interval, where there is one."""

    limit: Literal["max_stall", "max_slowdown"]
    allowed: float
    measured: float | None
    low: float | None
    high: float | None
    holds: bool | None
    sentence: str


def check(argv: Sequence[str]) -> int:
    """Tell by the exit code whether a run stays within limits: 0 it does, 1 it does not, 2 it cannot be told."""
    arguments = _parse(argv)
    try:
        client = client_from_environment()
        run_id = client.find(arguments.run).run_id
        diagnosis = judged(client, run_id)
        limits = []
        if arguments.max_stall is not None:
            limits.append(stall_limit(diagnosis, arguments.max_stall))
        if arguments.against is not None:
            before = judged(client, client.find(arguments.against).run_id).run_id
            found = client.comparison([before, run_id])
            limits.append(slowdown_limit(found, arguments.max_slowdown))
    except UnderfedError as error:
        print(f"underfed: {error}", file=sys.stderr)
        return UNKNOWN
    holds = all_hold(limits)
    if arguments.json:
        print(json.dumps({"run_id": run_id, "holds": holds, "limits": [asdict(limit) for limit in limits]}, indent=2))
    else:
        for line in lines_of(diagnosis, limits, f"{client.url}/runs/{run_id}"):
            print(plain(line))
    return UNKNOWN if holds is None else HOLDS if holds else FAILS


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="underfed check", description=check.__doc__)
    parser.add_argument("run", metavar="RUN", help="a run id, a unique beginning of one, latest, or slurm:JOBID")
    parser.add_argument(
        "--max-stall",
        type=_fraction,
        metavar="F",
        help="share of its time that it may wait for data, all loaders together",
    )
    parser.add_argument("--against", metavar="RUN", help="an earlier run of the same job")
    parser.add_argument(
        "--max-slowdown", type=_fraction, metavar="F", help="how much longer a step may take than in that run"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    arguments = parser.parse_args(argv)
    if (arguments.against is None) != (arguments.max_slowdown is None):
        parser.error("--against and --max-slowdown belong together")
    if arguments.max_stall is None and arguments.against is None:
        parser.error("a limit is needed: --max-stall F, or --against RUN --max-slowdown F")
    return arguments


def _fraction(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"a fraction is needed, as in 0.1 for 10 %, not {text!r}")
    return value


def judged(client: Client, run_id: str) -> Diagnosis:
    """The diagnosis; of a run that has just ended the one over all of its steps, if it comes in time."""
    deadline = time.monotonic() + WAITED_S
    while True:
        found = client.diagnosis(run_id)
        if found.is_final or client.run(run_id).status == "running" or time.monotonic() > deadline:
            return found
        time.sleep(POLL_S)


def stall_limit(found: Diagnosis, allowed: float) -> Limit:
    stall = stall_of(found)
    if stall is None or found.bound == "unknown":
        why = found.reason or found.sentence
        return Limit("max_stall", allowed, None, None, None, None, f"data stall: cannot be told: {why}")
    so_far = " so far: the run is not over" if found.status == "running" else ""
    share, base = stall.fraction, "run" if stall.is_of_run else "time"
    each = ", ".join(f"{percent(one)} for {loader}" for loader, one in stall.of_loaders.items())
    apart = f" ({each})" if len(stall.of_loaders) > 1 else ""
    digits = digits_apart(share, allowed)
    words = f"data stall {percent(share, digits)} of the {base}{apart}, {percent(allowed, digits)} allowed{so_far}"
    return Limit("max_stall", allowed, share, None, None, share <= allowed, words)


def slowdown_limit(found: Comparison, allowed: float) -> Limit:
    """It holds, or does not, where the whole interval says so: of a limit within it that is not known."""
    before, after = found.runs
    if after.speed is None:
        why = after.why_not or before.why_not or found.sentence
        return Limit("max_slowdown", allowed, None, None, None, None, f"slowdown: cannot be told: {why}")
    slower, low, high = (1 / factor - 1 for factor in (after.speed.factor, after.speed.high, after.speed.low))
    holds = True if high <= allowed else False if low > allowed else None
    each = "sample" if found.per == "samples" else "step"
    change = f"a {each} takes {more_or_less(slower)} time than in {quoted(before.label)}"
    digits = digits_apart(low, high, allowed)
    interval = f"with 95% confidence {more_or_less(low, digits)} to {more_or_less(high, digits)}"
    words = f"{change} ({interval}); at most {percent(allowed, digits)} more is allowed"
    if holds is None:
        words += ": not known, since the limit lies within this interval; more steps narrow it"
    return Limit("max_slowdown", allowed, slower, low, high, holds, words)


def quoted(label: str) -> str:
    """A run's name may have spaces, line ends and quotation marks: it is distinguished from the sentence around it."""
    return json.dumps(label, ensure_ascii=False)


def more_or_less(change: float, digits: int = 1) -> str:
    return f"{percent(abs(change), digits)} {'more' if change > 0 else 'less'}"


def digits_apart(*fractions: float) -> int:
    """As many as distinguish those that differ: no limit fails beside a figure that reads like it."""
    counts = range(1, MOST_DIGITS)
    different = len(set(fractions))
    return next((each for each in counts if len({percent(one, each) for one in fractions}) == different), MOST_DIGITS)


def percent(fraction: float, digits: int = 1) -> str:
    return f"{100 * fraction:.{digits}f}%"


def all_hold(limits: Sequence[Limit]) -> bool | None:
    """One that does not hold decides, then one of which that is not known."""
    states = {limit.holds for limit in limits}
    return False if False in states else None if None in states else True


def lines_of(found: Diagnosis, limits: Sequence[Limit], page: str) -> list[str]:
    """Each limit; where one does not hold the verdict and the first fix, too."""
    marks = {True: "holds   ", False: "FAILS   ", None: "unknown "}
    lines = [f"{marks[limit.holds]} {limit.sentence}" for limit in limits]
    if all_hold(limits) is not True:
        lines.append(found.sentence)
        beside = figures.first_beside(found)
        if beside is not None:
            lines.append(f"first fix: {beside}")
        if found.best_advice is not None:
            lines.append(f"{'first fix' if beside is None else 'worth a try'}: {found.best_advice.title}")
    return [*lines, page]
