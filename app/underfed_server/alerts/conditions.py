"""What a rule can be about, and whether it holds of a run. Pure. What was not measured neither raises nor clears."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from underfed_server import figures
from underfed_server.diagnosis.causes.memory_pressure import FORECAST_HOURS, MEMORY_LEFT, USED_UP_IN
from underfed_server.diagnosis.rounded import percent
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.growth import US_PER_HOUR
from underfed_server.model import Bound, CauseFinding, Condition, Diagnosis, RunSummary
from underfed_server.names import label_of

MINUTE_US = 60_000_000


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a run at one moment."""

    run: RunSummary
    diagnosis: Diagnosis | None
    """``None``: it was not judged yet."""
    silent_hosts: tuple[str, ...] | None
    """Of a run that has not ended: those that nothing comes from; ``None``: not known."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One condition of one run now."""

    holds: bool | None
    """``None``: not measured."""
    subjects: tuple[str, ...] = ("",)
    """What it is about, with one alert for each: the leading cause, ranks, or hosts."""
    headline: str = ""
    """Of a person's sentence that begins with the run's name."""
    sentence: str | None = None
    """``None``: that of the verdict."""
    bound: Bound | None = None
    """The verdict, for changes of it."""


UNKNOWN = Reading(None)


@dataclass(frozen=True, slots=True)
class Declared:
    """All that others need to know of a condition."""

    read: Callable[[Seen, float], Reading]
    """``Seen`` and the rule's threshold."""
    threshold: float | None = None
    """By default; ``None``: it has none."""
    most: float = 0.0
    for_us: int = 0
    """So long it must hold, by default."""
    can_wait: bool = True
    """``for_us`` may be set."""
    advises: bool = True
    """Its message has the first advice."""


def _data_bound(seen: Seen, threshold: float) -> Reading:
    diagnosis = seen.diagnosis
    if diagnosis is None or diagnosis.bound == "unknown" or diagnosis.data_stall_fraction is None:
        return UNKNOWN
    stall, cause = diagnosis.data_stall_fraction, _leading(diagnosis)
    headline = f"waits for data {percent(diagnosis.stated_stall_fraction or stall)} of its step time"
    return Reading(stall >= threshold, (cause.cause if cause else "",), headline)


def _hours_lost(seen: Seen, threshold: float) -> Reading:
    hours = seen.diagnosis.hours_lost if seen.diagnosis else None
    if hours is None:
        return UNKNOWN
    return Reading(hours >= threshold, headline=f"has lost {figures.hours(hours)} to its input")


def _verdict_changed(seen: Seen, _: float) -> Reading:
    """Whether it holds is for the rule's state to say, which has the verdict before."""
    diagnosis = seen.diagnosis
    if diagnosis is None or diagnosis.bound == "unknown":
        return UNKNOWN
    headline = f"is {label_of('bound', diagnosis.bound)} now"
    return Reading(False, (diagnosis.bound,), headline, bound=diagnosis.bound)


def _memory(seen: Seen, threshold: float) -> Reading:
    diagnosis = seen.diagnosis
    if diagnosis is None or diagnosis.bound == "unknown":
        return UNKNOWN
    cause = next((each for each in diagnosis.causes if each.cause == "memory_pressure"), None)
    hours = _hours_left(cause) if cause else None
    if any(each.signal == MEMORY_LEFT and each.reading == "not_measured" for each in diagnosis.signals):
        return UNKNOWN
    if cause is None or hours is None or hours > threshold:
        return Reading(False, headline="no longer runs out of memory")
    return Reading(True, headline=f"runs out of memory in {figures.hours(hours)}", sentence=cause.sentence)


def _hours_left(cause: CauseFinding) -> float | None:
    used_up = next((each.value for each in cause.evidence if each.what == USED_UP_IN), None)
    return used_up / US_PER_HOUR if isinstance(used_up, (int, float)) else None


def _straggler(seen: Seen, _: float) -> Reading:
    diagnosis = seen.diagnosis
    if diagnosis is None or diagnosis.bound == "unknown" or len(diagnosis.ranks) < 2:
        return UNKNOWN
    slow = [each.rank for each in diagnosis.ranks if each.straggler or each.works_longer]
    if not slow:
        return Reading(False, headline="has no rank any more that keeps the others waiting")
    keeps = "keep" if len(slow) > 1 else "keeps"
    headline = f"{_counted('rank', [str(rank) for rank in slow])} {keeps} the others waiting"
    return Reading(True, tuple(str(rank) for rank in slow), headline)


def _host_offline(seen: Seen, _: float) -> Reading:
    if seen.silent_hosts is None:
        return UNKNOWN
    if not seen.silent_hosts:
        return Reading(False, headline="all its hosts report", sentence="Every host of the run reports again.")
    hosts = _counted("host", seen.silent_hosts)
    is_one = len(seen.silent_hosts) == 1
    headline = f"{hosts} {'is' if is_one else 'are'} offline"
    lost = " The run has no signal." if seen.run.status == "lost" else ""
    sentence = f"Nothing comes from {hosts}, neither of this run nor of another.{lost}"
    return Reading(True, seen.silent_hosts, headline, sentence)


MOST_NAMED = 5


def _counted(noun: str, names: tuple[str, ...] | list[str]) -> str:
    """``rank 3``, ``ranks 3, 7``, ``ranks 0, 1, 2, 3, 4 and 59 more``."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{noun}{'s' if len(names) > 1 else ''} {', '.join(names[:MOST_NAMED])}{more}"


def _leading(diagnosis: Diagnosis) -> CauseFinding | None:
    return diagnosis.causes[0] if diagnosis.causes else None


CONDITIONS: Mapping[Condition, Declared] = {
    "data_bound": Declared(_data_bound, threshold=THRESHOLDS.bound_fraction, most=1.0, for_us=10 * MINUTE_US),
    "hours_lost": Declared(_hours_lost, threshold=8.0, most=1e6, can_wait=False),
    "verdict_changed": Declared(_verdict_changed, for_us=5 * MINUTE_US),
    "memory": Declared(_memory, threshold=FORECAST_HOURS, most=FORECAST_HOURS, for_us=MINUTE_US),
    "straggler": Declared(_straggler, for_us=5 * MINUTE_US),
    "host_offline": Declared(_host_offline, for_us=MINUTE_US, advises=False),
}
"""Waits are long enough that what passes by itself wakes nobody: own choice."""
