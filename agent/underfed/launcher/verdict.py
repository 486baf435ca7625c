"""The last lines of ``underfed run``: the verdict on the run, the first fix, and its page, as the service judged it."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from underfed.errors import ConfigError
from underfed.exchange import launch
from underfed.exchange.config import Config
from underfed.exchange.guard import Guard
from underfed.launcher.advice import Service
from underfed.trainer.recording import say

MOST_WAITED_S, WAITED_FRACTION = 3.0, 0.5
"""How long the last windows and their judgement are waited for, of a short command no longer than it took itself."""

POLL_S, ANSWER_S = 0.1, 1.0
"""How often the service is asked, and how long it may take for an answer."""

LINES = {"data": ("hot_lines", "of loading"), "host": ("step_lines", "between batches")}
"""By what the run is bound by: the lines of its program that this time is spent in."""

OF_A_LINE = "cheaper_transform"
"""The change that is about a costly line."""

MOST_CALLERS = 3
"""Of the costliest line."""


def report_verdict(config: Config, run_ids: Sequence[str], ran_s: float) -> None:
    """Print what the service says of the newest run; nothing where it does not answer, or judges later. Raises nothing.

    ``ran_s``: how long the command ran.
    """
    try:
        for run_id in run_ids[-1:]:
            service = Service(config.url, os.environ.get("UNDERFED_TOKEN"), ANSWER_S)
            found = final_diagnosis(service, run_id, min(MOST_WAITED_S, WAITED_FRACTION * ran_s))
            for line in lines_of(found, f"{config.url}/runs/{run_id}", config.profiles) if found else ():
                launch.first_rank_only(os.environ, say)(line)
    except ConfigError:
        return
    except Exception as error:
        Guard().failed("verdict of the command's run", error)


def final_diagnosis(service: Service, run_id: str, most_s: float) -> Mapping[str, Any] | None:
    """Once the run has ended and was judged; ``None``: not within the time, or the service does not know it.

    Raises:
        ConfigError: the service does not answer.
    """
    deadline = time.monotonic() + most_s
    while time.monotonic() < deadline:
        found = service.get(f"/runs/{run_id}/diagnosis")
        if isinstance(found, dict) and found.get("judged_at") and found.get("status") != "running":
            return found
        time.sleep(POLL_S)
    return None


def lines_of(diagnosis: Mapping[str, Any], page: str, is_profiled: bool = False) -> Iterator[str]:
    """The verdict, the line that costs most, the first fix or what is usually done about the line, the page. Where
    stacks were asked for, why they tell nothing."""
    yield str(diagnosis["sentence"])
    lines, of = LINES.get(diagnosis.get("bound", ""), ("", ""))
    for line in diagnosis.get(lines, [])[:1]:
        yield f"{percent(line['fraction'])} {of}: {line['sentence']}"
        callers = line.get("callers", [])[:MOST_CALLERS]
        if callers:
            through = (f"{one['sentence']} ({percent(one['fraction'])})" for one in callers)
            yield f"of it through {', '.join(through)}"
    if is_profiled:
        yield from few_looks(diagnosis)
    yield from first_fix(diagnosis["advice"])
    yield f"why, and all else: {page}"


def first_fix(advice: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Where none is promised, the usual change of a costly line before what else may be tried."""
    is_open = not any(one.get("is_promised") for one in advice)
    of_lines = [one for one in advice if one.get("change") == OF_A_LINE]
    for first in (of_lines if is_open and of_lines else advice)[:1]:
        is_of_line = first.get("change") == OF_A_LINE
        what = "no setting promises a gain; the usual change" if is_open and is_of_line else "first fix"
        at = f", {first['diff_file']}" if is_of_line and first.get("diff_file") else ""
        yield f"{what}: {first['title']}{at} ({saving_of(first) if is_of_line else gain_of(first)})"
        if first.get("command"):
            yield f"try it: {first['command']}"


def saving_of(advice: Mapping[str, Any]) -> str:
    """No gain is known of a change of code, but what it cannot pass."""
    ceiling = advice.get("ceiling")
    return "its gain is not known" if ceiling is None else f"about × {ceiling:.2f} if that work cost nothing"


def percent(fraction: float) -> str:
    """Half up, as the page rounds."""
    return f"{math.floor(100 * fraction + 0.5)}%"


def few_looks(diagnosis: Mapping[str, Any]) -> Iterator[str]:
    needed = diagnosis.get("needed_looks", 0)
    for what, key in (("loading", "looks"), ("what follows a batch", "step_looks")):
        looks = diagnosis.get(key, 0)
        if looks < needed:
            yield f"{what} was looked at {looks} times, too few to tell its lines: {needed} are needed"


def gain_of(advice: Mapping[str, Any]) -> str:
    """Of the run, as its interval."""
    if not advice.get("is_promised"):
        return "to be tried: no gain is promised"
    is_part = advice.get("run_speedup") is not None
    low, high = (advice.get(f"run_{end}" if is_part else end) for end in ("low", "high"))
    if low is None or high is None:
        return f"× {advice['predicted_speedup']:.2f}"
    return f"{'the run ' if is_part else ''}× {low:.2f}–{high:.2f}"
