"""Whether a message is due, by what a rule knows of a run and what is read of it now. Pure; the time is an argument."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from underfed_server.alerts.conditions import Reading
from underfed_server.model import AlertKind, AlertRule
from underfed_server.names import label_of
from underfed_server.store.alerts.states import RuleState
from underfed_server.store.databases.tables import MICROSECOND

LEAST_CLEAR = timedelta(minutes=1)
"""So long a condition must no longer hold before it has recovered: judgements follow each other by a second."""

MOST_TOLD = 64
"""Subjects that a rule remembers of one run: ranks and hosts may be thousands."""


@dataclass(frozen=True, slots=True)
class Step:
    """What the rule knows now, and what is to be told."""

    state: RuleState
    kind: AlertKind | None = None
    headline: str = ""


def advance(rule: AlertRule, state: RuleState, reading: Reading, now: datetime, *, has_ended: bool) -> Step:
    """``has_ended``: such a run has not recovered, and waits for nothing more."""
    state = _until(state, now)
    if reading.holds is not None:
        step = _of_known(rule, state, reading, now, has_ended=has_ended)
        return replace(step, state=replace(step.state, since_at=None)) if has_ended else step
    # Time that was not measured is no time in which it held.
    return Step(state if state.is_raised else replace(state, since_at=None))


def _of_known(rule: AlertRule, state: RuleState, reading: Reading, now: datetime, *, has_ended: bool) -> Step:
    if reading.bound is not None:
        return _of_change(rule, state, reading, now)
    if reading.holds:
        return _of_holding(rule, state, reading, now)
    if not state.is_raised or has_ended:
        return Step(replace(state, since_at=None))
    clear_at = state.clear_at or now
    if now - clear_at < max(rule.for_us * MICROSECOND, LEAST_CLEAR):
        return Step(replace(state, since_at=None, clear_at=clear_at))
    kind: AlertKind | None = "recovered" if rule.tells_recovery else None
    return Step(replace(state, since_at=None, clear_at=None, is_raised=False), kind, reading.headline)


def _of_holding(rule: AlertRule, state: RuleState, reading: Reading, now: datetime) -> Step:
    state = replace(state, clear_at=None, since_at=state.since_at or now)
    if now - (state.since_at or now) < rule.for_us * MICROSECOND or not _news(rule, state, reading, now):
        return Step(state)
    return Step(replace(state, is_raised=True, told=_told(state, reading, now)), "raised", reading.headline)


def _of_change(rule: AlertRule, state: RuleState, reading: Reading, now: datetime) -> Step:
    """The first verdict is no change; a new one is told of once it has lasted."""
    before = state.bound
    if before is None or before == reading.bound:
        return Step(replace(state, bound=reading.bound, since_at=None))
    state = replace(state, since_at=state.since_at or now)
    if now - (state.since_at or now) < rule.for_us * MICROSECOND:
        return Step(state)
    headline = f"was {label_of('bound', before)}, {reading.headline}"
    is_news = _news(rule, state, reading, now)
    state = replace(state, bound=reading.bound, since_at=None)
    return Step(replace(state, told=_told(state, reading, now)), "raised", headline) if is_news else Step(state)


def _news(rule: AlertRule, state: RuleState, reading: Reading, now: datetime) -> bool:
    """One of the subjects was not told of: not in this stretch of holding, nor within the cool-down."""
    cool_down = rule.cool_down_us * MICROSECOND
    return any(
        subject not in state.told or (not state.is_raised and now - state.told[subject] >= cool_down)
        for subject in reading.subjects
    )


def _told(state: RuleState, reading: Reading, now: datetime) -> dict[str, datetime]:
    told = {**state.told, **dict.fromkeys(reading.subjects, now)}
    newest = sorted(told, key=lambda subject: told[subject])[-MOST_TOLD:]
    return {subject: told[subject] for subject in newest}


def _until(state: RuleState, now: datetime) -> RuleState:
    """Without instants to come, which were noted before the clock was set back: they would silence the rule."""
    told = {subject: min(at, now) for subject, at in state.told.items()}
    since_at, clear_at = (at and min(at, now) for at in (state.since_at, state.clear_at))
    return replace(state, since_at=since_at, clear_at=clear_at, told=told)
