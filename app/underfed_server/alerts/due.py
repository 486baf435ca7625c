"""Whether a message is due, by what a rule knows of a run and what is read of it now. Pure; the time is an argument."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from underfed_server.alerts.conditions import Reading
from underfed_server.model import AlertKind, AlertRule, Bound
from underfed_server.names import label_of
from underfed_server.store.alerts.states import RuleState
from underfed_server.store.databases.tables import MICROSECOND

LEAST_CLEAR = timedelta(minutes=1)
"""So long a condition must no longer hold before it has recovered: judgements follow each other by a second."""

MOST_SUBJECTS = 64
"""Subjects that a rule looks at and remembers of one run: ranks and hosts may be thousands."""


@dataclass(frozen=True, slots=True)
class Step:
    """What the rule knows now, and the message that is due."""

    state: RuleState
    kind: AlertKind | None = None
    headline: str = ""


def advance(rule: AlertRule, state: RuleState, reading: Reading, now: datetime, *, has_ended: bool) -> Step:
    """``has_ended``: such a run has not recovered and waits for nothing more, and a subject that had an alert does not
    come back: its end may arrive again, from a spool that is sent hours later."""
    state = _until(state, now)
    if reading.holds is not None:
        step = _of_known(rule, state, reading, now, has_ended=has_ended)
        return replace(step, state=_resting(step.state)) if has_ended else step
    # Time that was not measured is no time in which it held.
    return Step(replace(state, held={}) if state.is_raised else _resting(state))


def _of_known(rule: AlertRule, state: RuleState, reading: Reading, now: datetime, *, has_ended: bool) -> Step:
    if reading.bound is not None:
        return _of_change(rule, state, reading, reading.bound, now, has_ended=has_ended)
    if reading.holds:
        return _of_holding(rule, state, reading, now, has_ended=has_ended)
    state = _resting(state)
    if not state.is_raised or has_ended:
        return Step(state)
    clear_at = state.clear_at or now
    if now - clear_at < max(rule.for_us * MICROSECOND, LEAST_CLEAR):
        return Step(replace(state, clear_at=clear_at))
    kind: AlertKind | None = "recovered" if rule.tells_recovery else None
    return Step(replace(state, clear_at=None, is_raised=False), kind, reading.headline)


def _of_holding(rule: AlertRule, state: RuleState, reading: Reading, now: datetime, *, has_ended: bool) -> Step:
    """Once it has lasted. While one of its subjects had an alert lately, another one must have lasted by itself: causes
    that cost about the same take turns in leading."""
    state = replace(state, clear_at=None, since_at=state.since_at or now)
    fresh = _fresh(rule, state, reading, now, has_ended=has_ended)
    if state.is_raised or not all(_is_cool(rule, state, subject, now) for subject in state.told):
        state = _holding(state, fresh, now)
        since_at = min(state.held.values(), default=None)
    else:
        state = replace(state, held={})
        since_at = state.since_at if fresh else None
    if since_at is None or now - since_at < rule.for_us * MICROSECOND:
        return Step(state)
    raised = _raised(state, reading, now)
    return Step(replace(state, is_raised=True, told=raised, held={}), "raised", reading.headline)


def _of_change(
    rule: AlertRule, state: RuleState, reading: Reading, bound: Bound, now: datetime, *, has_ended: bool
) -> Step:
    """The first verdict is no change; a message about a new one is due once it has lasted."""
    before = state.bound
    if before is None or before == bound:
        return Step(replace(_resting(state), bound=bound))
    state = _holding(state, [bound], now)
    if now - state.held[bound] < rule.for_us * MICROSECOND:
        return Step(state)
    headline = f"was {label_of('bound', before)}, {reading.headline}"
    is_due = bool(_fresh(rule, state, reading, now, has_ended=has_ended))
    state = replace(_resting(state), bound=bound)
    return Step(replace(state, told=_raised(state, reading, now)), "raised", headline) if is_due else Step(state)


def _subjects(reading: Reading) -> tuple[str, ...]:
    return reading.subjects[:MOST_SUBJECTS]


def _resting(state: RuleState) -> RuleState:
    return replace(state, since_at=None, held={})


def _holding(state: RuleState, subjects: Sequence[str], now: datetime) -> RuleState:
    return replace(state, held={subject: state.held.get(subject, now) for subject in subjects})


def _fresh(rule: AlertRule, state: RuleState, reading: Reading, now: datetime, *, has_ended: bool) -> list[str]:
    """Subjects that had no alert: not in this stretch of holding, nor within the cool-down; of a run that ended,
    never."""
    may_come_back = not state.is_raised and not has_ended
    return [
        subject
        for subject in _subjects(reading)
        if subject not in state.told or (may_come_back and _is_cool(rule, state, subject, now))
    ]


def _is_cool(rule: AlertRule, state: RuleState, subject: str, now: datetime) -> bool:
    return now - state.told[subject] >= rule.cool_down_us * MICROSECOND


def _raised(state: RuleState, reading: Reading, now: datetime) -> dict[str, datetime]:
    raised = {**state.told, **dict.fromkeys(_subjects(reading), now)}
    newest = sorted(raised, key=lambda subject: raised[subject])[-MOST_SUBJECTS:]
    return {subject: raised[subject] for subject in newest}


def _until(state: RuleState, now: datetime) -> RuleState:
    """Without instants to come, which were noted before the clock was set back: they would silence the rule."""
    raised, held = ({subject: min(at, now) for subject, at in each.items()} for each in (state.told, state.held))
    since_at, clear_at = (at and min(at, now) for at in (state.since_at, state.clear_at))
    return replace(state, since_at=since_at, clear_at=clear_at, told=raised, held=held)
