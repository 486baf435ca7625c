"""The last lines of ``underfed run``: the verdict on the run, the first fix, and its page, as the service judged it."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from underfed.errors import ConfigError
from underfed.exchange import launch, tuning
from underfed.exchange.config import Config
from underfed.exchange.guard import Guard
from underfed.exchange.parts import read_part
from underfed.launcher.advice import Service
from underfed.trainer.recording import say

MOST_WAITED_S, WAITED_FRACTION = 5.0, 0.5
"""How long the last windows and their judgement are waited for, of a short command no longer than it took itself."""

POLL_S, ANSWER_S = 0.1, 1.0
"""How often the service is asked, and how long it may take for an answer."""


NOT_JUDGED = "no verdict yet: the service still judges the last steps; it will be at"
NOT_SENT = "no verdict yet: the run's last records are still being sent; it will be at"
NO_ANSWER = "no verdict yet: the service did not answer in time; it will be at"
"""Before the address of the run's page."""

SO_FAR = "so far, without the last steps, which the service still judges: "
"""Before a verdict that was given while the command ran."""

LINES = {"data": ("hot_lines", "of loading"), "host": ("step_lines", "between batches")}
OF_LOADING_SO_FAR = LINES["data"]
"""Without a verdict, of a run that mostly waited so far."""

WAITED = 0.2
"""Of the time so far, from which its loading's line is named: from there on a run with a verdict is data-bound."""

"""By what the run is bound by: the lines of its program that this time is spent in."""

LOOKED_AT = {"data": ("loading", "looks"), "host": ("what follows a batch", "step_looks")}

LIMITS = (0.05, 0.1, 0.2)
"""Shares from which the word of a verdict is another one."""

OF_A_LINE = "cheaper_transform"
"""The change that is about a costly line."""

OF_SAMPLER, OF_LOADING = "slow_sampler", "Of loading, in "
"""A cause, and how the evidence of any cause that names a line begins."""

MOST_BESIDE = 2
"""Findings of what is neither training nor waiting."""

MOST_CALLERS = 3
"""Of the costliest call."""


def report_verdict(config: Config, run_ids: Sequence[str], ran_s: float, *, is_tuning_unreported: bool = False) -> None:
    """Print what the service says of the newest run, or why it says nothing yet, and the run's page. Raises nothing.

    ``ran_s``: how long the command ran. ``is_tuning_unreported``: its process ended without saying what came of
    ``--tune``, as by ``os._exit`` or by becoming another program.
    """
    try:
        for run_id in run_ids[-1:]:
            service = Service(config.url, os.environ.get("UNDERFED_TOKEN"), ANSWER_S)
            found, why = final_diagnosis(service, run_id, min(MOST_WAITED_S, WAITED_FRACTION * ran_s))
            page = f"{config.url}/runs/{run_id}"
            lines = [f"{why} {page}"] if found is None else [*lines_of(found, page, config.profiles)]
            if found is not None and is_tuning_unreported:
                lines = [*tuning_lines(found), *lines]
            for line in lines:
                launch.first_rank_only(os.environ, say)(line)
    except ConfigError:
        return  # that no service is there was said when recording began
    except Exception as error:
        Guard().failed("verdict of the command's run", error)


def report_tuning(directory: Path) -> None:
    """Print what came of ``--tune`` in a command that a signal ended, as its process wrote it last. Raises nothing.

    ``directory``: of the launcher's reports.
    """
    try:
        facts = read_part(directory / tuning.FILE, tuning.TuningFacts)
    except (OSError, ValueError, TypeError):
        return  # nothing was looked at yet
    for line in tuning_lines({"tuning": asdict(facts)}):
        launch.first_rank_only(os.environ, say)(line)


def final_diagnosis(service: Service, run_id: str, most_s: float) -> tuple[Mapping[str, Any] | None, str]:
    """Once the run has ended and all that it sent was judged: by asking, the service judges it next. Where that takes
    longer, the verdict so far; ``None`` where there is none, and why.

    The last answer is waited for by itself: :data:`ANSWER_S` longer at most. A service that does not give one in that
    time is not asked again.

    Raises:
        ConfigError: there is no service.
    """
    deadline = time.monotonic() + most_s
    known: Mapping[str, Any] | None = None
    while True:
        asked_at = time.monotonic()
        try:
            found = service.get(f"/runs/{run_id}/diagnosis")
        except ConfigError:
            if time.monotonic() - asked_at < ANSWER_S:
                raise
            # It accepts connections and hangs: the end of a command is not to wait for it again.
            return known if _has_bound(known) else None, NO_ANSWER
        else:
            known = found if isinstance(found, dict) and found.get("judged_at") else known
            if known and known.get("is_final"):
                return known, ""
            why = NOT_JUDGED if isinstance(found, dict) and found else NOT_SENT
        if time.monotonic() >= deadline:
            return known if _has_bound(known) else None, why
        time.sleep(POLL_S)


def _has_bound(known: Mapping[str, Any] | None) -> bool:
    return known is not None and known.get("bound") != "unknown"


def lines_of(diagnosis: Mapping[str, Any], page: str, is_profiled: bool = False) -> Iterator[str]:
    """The verdict, the line that costs most, the first fix or what is usually done about the line, the page. Where
    stacks were asked for, why they tell nothing."""
    yield f"{'' if diagnosis.get('is_final') else SO_FAR}{diagnosis['sentence']}"
    has_waited = (diagnosis.get("waited_fraction") or 0.0) >= WAITED and diagnosis.get("status") != "running"
    lines, of = LINES.get(diagnosis.get("bound", ""), OF_LOADING_SO_FAR if has_waited else ("", ""))
    of_sampler = [*sampler_line(diagnosis)]
    yield from of_sampler
    for line in diagnosis.get(lines, [])[:1] if not of_sampler else ():
        yield f"{percent(line['fraction'])}{margin(line)} {of}: {line['sentence']}"
        callers = line.get("callers", [])[:MOST_CALLERS]
        if callers:
            through = (f"{one['sentence']} ({percent(one['fraction'])})" for one in callers)
            yield f"of it through {', '.join(through)}"
        if order := diagnosis.get(lines.replace("lines", "order")):
            yield order
    yield from diagnosis.get("beside_training", [])[:MOST_BESIDE]
    if is_profiled:
        yield from few_looks(diagnosis)
    is_beside_first, kept = diagnosis.get("is_beside_first", False), diagnosis.get("to_write")
    if kept:
        yield f"first fix: {kept['title']}, {kept['gain']}"
    if is_beside_first:
        yield f"{'worth a try' if kept else 'first fix'}: {beside_of(diagnosis)}"
    yield from first_fix(diagnosis["advice"], "worth a try" if kept or is_beside_first else "first fix")
    yield f"why, and all else: {page}"


def tuning_lines(diagnosis: Mapping[str, Any]) -> Iterator[str]:
    """What to write into the script, or why the loader was left as it is."""
    tuned = diagnosis.get("tuning") or {}
    if tuned.get("status") == tuning.KEPT and tuned.get("lines"):
        yield tuning.to_write(tuned["lines"])
    elif tuned.get("status") == tuning.SEARCHING:
        yield tuning.ENDED_WITHIN
    elif tuned.get("reason"):
        yield tuning.left_as_it_is(tuned["reason"])


def sampler_line(diagnosis: Mapping[str, Any]) -> Iterator[str]:
    """Where the sampler is waited for most: its costliest call, or why that is not known. What workers do is not to
    blame there."""
    for cause in diagnosis.get("causes", [])[:1]:
        if cause["cause"] != OF_SAMPLER:
            continue
        for share in [one for one in cause["evidence"] if one["what"].startswith(OF_LOADING)][:1]:
            if share["value"] is None:
                yield share["what"]
            else:
                of = share["what"].removeprefix(OF_LOADING)
                yield f"{percent(share['value'])}{margin(share)} of loading: {of}"


def first_fix(advice: Sequence[Mapping[str, Any]], first_is: str = "first fix") -> Iterator[str]:
    """The first of the list, as on the page."""
    is_open = not any(one.get("is_promised") for one in advice)
    for first in advice[:1]:
        is_of_line = first.get("change") == OF_A_LINE
        what = "no setting promises a gain; the usual change" if is_open and is_of_line else first_is
        at = f", {first['diff_file']}" if is_of_line and first.get("diff_file") else ""
        yield f"{what}: {first['title']}{at} ({saving_of(first) if is_of_line else gain_of(first)})"
        if first.get("command"):
            yield f"try it: {first['command']}"


def beside_of(diagnosis: Mapping[str, Any]) -> str:
    """What to do outside the loader and its gain, as the page and ``underfed show`` have it. A service of an earlier
    version sends sentences alone."""
    speedup, actions = diagnosis.get("beside_speedup"), diagnosis.get("beside") or []
    title = actions[0]["title"] if actions else diagnosis["beside_loader"].removesuffix(".")
    return f"{title}, {'gain not known' if speedup is None else f'× {speedup:.2f} at most for the run'}"


def saving_of(advice: Mapping[str, Any]) -> str:
    """No gain is known of a change of code, but what it cannot pass."""
    ceiling = advice.get("ceiling")
    if ceiling is None:
        return "its gain is not known"
    low, high, of = (advice.get(f"ceiling_{each}") for each in ("low", "high", "of"))
    within = "" if low is None or high is None else f" ({low:.2f} to {high:.2f})"
    return f"about × {ceiling:.2f}{within} if that work{f', {of},' if of else ''} cost nothing"


def percent(fraction: float) -> str:
    """Half up, with one digit more below ten and just below a limit, as the page and ``underfed show`` have it."""
    if 0 < fraction < 0.0005:
        return "< 0.1%"
    parts = 1_000 if 0 < fraction < 0.0995 else 100
    said = math.floor(fraction * parts + 0.5)
    if any(fraction < limit and said >= limit * parts for limit in LIMITS):
        return f"{math.floor(fraction * 1_000) / 10:.1f}%"
    return f"{said / 10:.1f}%" if parts == 1_000 else f"{said}%"


def margin(line: Mapping[str, Any]) -> str:
    """In points, written as there; empty: not known."""
    fraction = line.get("margin_fraction")
    if fraction is None:
        return ""
    points = 100 * fraction
    return f" ± {points:.1f}" if points < 0.95 else f" ± {math.floor(points + 0.5)}"


def few_looks(diagnosis: Mapping[str, Any]) -> Iterator[str]:
    """At what the run is bound by; of anything else no line would be named."""
    what, key = LOOKED_AT.get(diagnosis.get("bound", ""), ("", ""))
    looks, needed = diagnosis.get(key, 0), diagnosis.get("needed_looks", 0)
    if what and looks < needed:
        yield f"{what} was looked at {looks} times, too few to tell its lines: {needed} are needed"


def gain_of(advice: Mapping[str, Any]) -> str:
    """Of the run, as its interval."""
    if not advice.get("is_promised"):
        return "to be tried: no gain is promised"
    is_part = advice.get("run_speedup") is not None
    low, high = (advice.get(f"run_{end}" if is_part else end) for end in ("low", "high"))
    if low is None or high is None:
        return f"× {advice['predicted_speedup']:.2f}"
    least, most = f"{low:.2f}", f"{high:.2f}"
    return f"{'the run ' if is_part else ''}× {least if least == most else f'{least}–{most}'}"
