"""The verdict in words, numbers rounded as the page rounds them."""

from __future__ import annotations

from collections.abc import Sequence

from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import input_lost_fraction, used_cores_fraction
from underfed_server.facts.record import RunFacts
from underfed_server.model import Bound, CauseFinding

NAMES = {
    "no_workers": "no workers",
    "too_few_workers": "too few workers",
    "cpu_limited": "CPU saturated",
    "storage_wait": "slow storage",
}
"""How a cause is called in a table cell."""


def percent(fraction: float) -> str:
    """``0.634`` → ``63%``, ``0.032`` → ``3.2%``: one digit more where whole numbers would hide the size."""
    return f"{fraction * 100:.1f}%" if fraction < 0.0995 else f"{fraction * 100:.0f}%"


def verdict(facts: RunFacts, bound: Bound, fraction: float) -> str:
    who = _who(facts)
    waits, is_ = ("waits", "is") if who.startswith("The training loop") or who == "The GPU" else ("wait", "are")
    if bound == "data":
        return f"{who} {waits} for data {percent(fraction)} of every step."
    if facts.median_rank.has_device_clock:
        # More cannot be said: what it does outside the wait was not timed in every step.
        stands = "stands" if waits == "waits" else "stand"
        return f"{who} {stands} idle for data {percent(fraction)} of every step."
    return f"{who} {is_} kept busy: {percent(fraction)} of a step is spent waiting for data."


def why(
    facts: RunFacts, bound: Bound, causes: Sequence[CauseFinding], samples: float | None, limits: Limits
) -> str | None:
    if bound != "data":
        return (
            _delayed_host(facts, limits)
            or _shared_cores(facts, limits)
            or "Nothing about the loader needs to change: a faster one would gain next to nothing."
        )
    if not causes:
        return "None of the causes we can recognise explains the wait: see what was ruled out."
    return f"{causes[0].sentence} {_rates(facts, samples)}".strip()


def no_loader() -> str:
    return "No loader was seen in this run."


def why_no_loader(reason: str) -> str:
    """The agent's reason stands by itself, too; below the sentence it would say it twice."""
    return reason.removeprefix("no loader seen: ")


def no_verdict(ended: bool) -> str:
    return "The run ended before a verdict was possible." if ended else "A verdict needs a few more steps."


def still_measuring(facts: RunFacts, needed: int) -> str:
    if facts.steps == 0:
        return "no step yet: the first batch is still being loaded"
    return f"{facts.steps} of {needed} steps; the first {facts.warmup_steps} are warm-up and not judged"


def too_short(facts: RunFacts, needed: int) -> str:
    return f"a verdict needs {needed} steps (the first {facts.warmup_steps} are warm-up); the run had {facts.steps}"


def _who(facts: RunFacts) -> str:
    if not facts.uses_gpu:
        return "The training loop" if len(facts.ranks) == 1 else "The training loops"
    return "The GPU" if len(facts.ranks) == 1 else "The GPUs"


def _delayed_host(facts: RunFacts, limits: Limits) -> str | None:
    """Waits that the device works through may still delay the host so far that it runs dry afterwards."""
    lost = input_lost_fraction(facts.median_rank)
    if lost is None or lost < limits.limited_fraction:
        return None
    return (
        "The device seldom stands idle while the loop waits, but the waits delay the rest of the loop: replayed with "
        f"instant data, a step takes {percent(lost)} less."
    )


def _shared_cores(facts: RunFacts, limits: Limits) -> str | None:
    """Where the step itself is CPU work on full cores, loading slows it down without a wait."""
    rank, usable = facts.median_rank, facts.host.usable_cores
    used, workers = used_cores_fraction(rank, facts.host), rank.process.workers_cores
    if facts.uses_gpu or used is None or not usable or not workers:
        return None
    if used < limits.saturated_cores_fraction or workers / usable < limits.shared_cores_fraction:
        return None
    return (
        "No setting of the loader would help: all the cores this run may use are busy. Loading takes "
        f"{_figure(workers)} of {usable:g} cores; what it needed less would go to the training."
    )


def _rates(facts: RunFacts, samples: float | None) -> str:
    rank = facts.median_rank
    step_s, work_s = rank.step_us / 1e6, (1 - rank.stall_fraction) * rank.step_us / 1e6
    unit, per_step = ("samples/s", samples) if samples else ("steps/s", 1.0)
    if work_s <= 0:
        return ""
    return f"It gets {_figure(per_step / step_s)} {unit} and could take {_figure(per_step / work_s)}."


def _figure(value: float) -> str:
    """Three significant digits, thousands grouped: ``1,089``, ``62.1``, ``4.08``."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
