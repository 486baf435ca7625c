"""The verdict in words, numbers rounded as the page rounds them."""

from __future__ import annotations

from collections.abc import Sequence

from underfed_server.diagnosis.bound import Losses
from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import input_lost_fraction, used_cores_fraction
from underfed_server.facts.record import RankFacts, RunFacts
from underfed_server.model import CauseFinding, Status

NAMES = {
    "no_workers": "no workers",
    "too_few_workers": "too few workers",
    "cpu_limited": "CPU saturated",
    "thread_oversubscription": "thread oversubscription",
    "storage_wait": "slow storage",
    "slow_collate": "slow collate",
    "ipc_copy": "IPC copy",
    "pin_thread": "pin thread",
    "worker_startup": "worker start-up",
    "slow_samples": "slow samples",
    "slow_sampler": "slow sampler",
    "unsharded_iterable": "unsharded iterable",
    "pageable_copy": "pageable copy",
    "memory_pressure": "memory pressure",
    "slow_rank": "slow rank",
}
"""How a cause is called in a table cell."""


def percent(fraction: float) -> str:
    """``0.634`` → ``63%``, ``0.032`` → ``3.2%``: one digit more where whole numbers would hide the size.

    What is too small for that is not called nothing; nothing has no digits.
    """
    if fraction < 0.0005:
        return "less than 0.1%" if fraction > 0 else "0%"
    return f"{fraction * 100:.1f}%" if fraction < 0.0995 else f"{fraction * 100:.0f}%"


def verdict(judged: Judged, losses: Losses, limits: Limits) -> str:
    who, is_one = _who(judged.facts)
    rank, data = judged.rank, percent(losses.data)
    stands = "stands" if is_one else "stand"
    if judged.bound == "data":
        return f"{who} {'waits' if is_one else 'wait'} for data {data} of every step."
    if judged.bound == "transfer":
        return f"{who} {'waits' if is_one else 'wait'} for copies {percent(losses.transfer or 0.0)} of every step."
    if judged.bound == "host":
        return f"{who} {stands} idle {percent(losses.host or 0.0)} of the time with data at hand."
    if _is_event(losses, limits):
        return f"{who} {'is' if is_one else 'are'} kept busy, but for {_few(rank, losses)}."
    if rank.has_device_clock:
        # More cannot be said: what it does outside the wait was not timed in every step.
        return f"{who} {stands} idle for data {data} of every step."
    return f"{who} {'is' if is_one else 'are'} kept busy: {data} of a step is spent waiting for data."


def why(
    judged: Judged, losses: Losses, causes: Sequence[CauseFinding], samples: float | None, limits: Limits
) -> str | None:
    warning = causes[0].sentence if causes else ""
    if judged.bound == "data":
        reason = warning or "None of the causes we can recognise explains the wait: see what was ruled out."
        return f"{reason} {_rates(judged.rank, samples)}".strip() if warning else reason
    if judged.bound == "transfer":
        return warning or "Copying batches to the device is not hidden behind its work."
    text = (
        _hiccup(judged.rank, losses, limits)
        or _delayed_host(judged.rank, limits)
        or _shared_cores(judged, limits)
        or _host_work(judged)
        or ("" if warning else "Nothing about the loader needs to change: a faster one would gain next to nothing.")
    )
    return f"{warning} {text}".strip()


def no_loader() -> str:
    return "No loader was seen in this run."


def why_no_loader(reason: str) -> str:
    """The agent's reason stands by itself, too; below the sentence it would say it twice."""
    return reason.removeprefix("no loader seen: ")


def no_verdict(status: Status) -> str:
    if has_ended(status):
        return "The run ended before a verdict was possible."
    return "A verdict needs a few more steps."


def has_ended(status: Status) -> bool:
    """A lost one may still be training."""
    return status in ("finished", "crashed")


def verdict_comes(facts: RunFacts, needed: int) -> str:
    """When, by the pace so far; in how many steps where there is none yet."""
    slowest = min(facts.ranks, key=lambda rank: rank.total_steps, default=None)
    if slowest is None or slowest.total_steps == 0:
        return no_verdict("running")
    step_s = slowest.total_step_us / slowest.total_steps / 1e6
    return f"A verdict needs {_about(step_s * max(1, needed - slowest.total_steps))}."


def _about(seconds: float) -> str:
    if seconds < 15:
        return "a few more seconds"
    if seconds < 90:
        return "about one more minute" if seconds > 45 else "about half a minute more"
    minutes = round(seconds / 60)
    return f"about {minutes} more minutes" if minutes < 90 else f"about {round(minutes / 60)} more hours"


def still_measuring(facts: RunFacts, needed: int) -> str:
    if facts.steps == 0:
        return "no step yet: the first batch is still being loaded"
    return f"{facts.steps} of {needed} steps; the first {facts.warmup_steps} are warm-up and not judged"


def too_short(facts: RunFacts, needed: int) -> str:
    return f"a verdict needs {needed} steps (the first {facts.warmup_steps} are warm-up); the run had {facts.steps}"


def _who(facts: RunFacts) -> tuple[str, bool]:
    """And whether it is one."""
    is_one = len(facts.ranks) == 1
    if not facts.uses_gpu:
        return "The training loop" if is_one else "The training loops", is_one
    return "The GPU" if is_one else "The GPUs", is_one


def _is_event(losses: Losses, limits: Limits) -> bool:
    """A stall that lies in a few steps."""
    return losses.data >= limits.limited_fraction > losses.lasting


def _few(rank: RankFacts, losses: Losses) -> str:
    return f"{losses.hiccups} of {len(rank.steps):,} steps"


def _hiccup(rank: RankFacts, losses: Losses, limits: Limits) -> str | None:
    if not _is_event(losses, limits):
        return None
    longest_s = float(rank.steps.data_wait_us.max()) / 1e6
    return (
        f"{_few(rank, losses)} waited for most of the {percent(losses.data)} that was lost, at most "
        f"{longest_s:.1f} s: that is an event, and no setting of the loader prevents it."
    )


def _host_work(judged: Judged) -> str | None:
    if judged.bound != "host":
        return None
    return (
        "Batches are ready when they are asked for: the program between the steps is the limit, such as logging, "
        "reading values back (.item()), checkpoints, or many small kernels."
    )


def _delayed_host(rank: RankFacts, limits: Limits) -> str | None:
    """Waits that the device works through may still delay the host so far that it runs dry afterwards."""
    lost = input_lost_fraction(rank)
    if lost is None or lost < limits.limited_fraction:
        return None
    return (
        "The device seldom stands idle while the loop waits, but the waits delay the rest of the loop: replayed with "
        f"instant data, a step takes {percent(lost)} less."
    )


def _shared_cores(judged: Judged, limits: Limits) -> str | None:
    """Where the step itself is CPU work on full cores, loading slows it down without a wait."""
    facts, rank, usable = judged.facts, judged.rank, judged.facts.host.usable_cores
    used, workers = used_cores_fraction(rank, facts.host), rank.process.workers_cores
    if facts.uses_gpu or used is None or not usable or not workers:
        return None
    if used < limits.saturated_cores_fraction or workers / usable < limits.shared_cores_fraction:
        return None
    return (
        "No setting of the loader would help: all the cores this run may use are busy. Loading takes "
        f"{_figure(workers)} of {usable:g} cores; what it needed less would go to the training."
    )


def _rates(rank: RankFacts, samples: float | None) -> str:
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
