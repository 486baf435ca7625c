"""Faults of alerts: when one is due, to whom, how often, and what may be posted where."""

from __future__ import annotations

from tests.planted_faults.fault import Fault

DUE = "app/underfed_server/alerts/due.py"
OUTBOX = "app/underfed_server/store/alerts/outbox.py"
WATCHER = "app/underfed_server/alerts/watcher.py"
RULES = ("tests/app/alerts/test_rules.py",)
FOLLOWING = ("tests/app/alerts/test_following.py",)

ALERTS = (
    Fault(
        "time in which nothing was measured counts as time in which the condition held",
        DUE,
        "return Step(replace(state, held={}) if state.is_raised else _resting(state))",
        "return Step(state)",
        RULES,
        FOLLOWING,
    ),
    Fault(
        "an alert is sent before its condition has held for as long as the rule says",
        DUE,
        "if since_at is None or now - since_at < rule.for_us * MICROSECOND:",
        "if since_at is None:",
        RULES,
        FOLLOWING,
    ),
    Fault(
        "one good judgement is a recovery",
        DUE,
        "max(rule.for_us * MICROSECOND, LEAST_CLEAR)",
        "0 * MICROSECOND",
        RULES,
        FOLLOWING,
    ),
    Fault(
        "a run that ended while it waited for data has recovered",
        DUE,
        "if not state.is_raised or has_ended:",
        "if not state.is_raised:",
        RULES,
        FOLLOWING,
        escapes_before=True,
    ),
    Fault(
        "a cause that leads for a moment is reported as soon as it does",
        DUE,
        "if state.is_raised or not all(_is_cool(rule, state, subject, now) for subject in state.told):",
        "if False:",
        RULES,
        FOLLOWING,
        escapes_before=True,
    ),
    Fault(
        "the same cause is reported again as soon as it comes back",
        DUE,
        "subject not in state.told or (may_come_back and _is_cool(rule, state, subject, now))",
        "subject not in state.told or may_come_back",
        RULES,
        FOLLOWING,
    ),
    Fault(
        "a clock that was set back silences a rule",
        DUE,
        "raised, held = ({subject: min(at, now) for subject, at in each.items()} for each in (state.told, state.held))",
        "raised, held = state.told, state.held",
        RULES,
        FOLLOWING,
    ),
    Fault(
        "the first verdict of a run is a change of it",
        DUE,
        "if before is None or before == bound:",
        "if before == bound:",
        RULES,
        FOLLOWING,
    ),
    Fault(
        "a rule of one project reports runs of others",
        WATCHER,
        "return rule.project in (None, run.project) and rule.user in (None, run.user)",
        "return rule.user in (None, run.user)",
        RULES,
        ("tests/app/alerts",),
    ),
    Fault(
        "a rule reports runs that were over when it was made",
        WATCHER,
        "is_since and not is_over",
        "not is_over",
        RULES,
        ("tests/app/alerts",),
        escapes_before=True,
    ),
    Fault(
        "a host is offline although another run was seen there",
        WATCHER,
        "return tuple(name for name in silent if name not in seen)",
        "return tuple(silent)",
        RULES,
        ("tests/app/alerts",),
    ),
    Fault(
        "two processes that see the same change both report it",
        "app/underfed_server/store/alerts/states.py",
        ", state.c.version == before.version)",
        ")",
        RULES,
        ("tests/app/alerts",),
        escapes_before=True,
    ),
    Fault(
        "a message is tried for ever",
        OUTBOX,
        "is_late = claimed.attempts >= len(BACKOFF) or now - claimed.made_at >= MOST_AGE",
        "is_late = False",
        ("tests/app/alerts/test_outbox.py",),
    ),
    Fault(
        "a channel gets any number of messages an hour",
        OUTBOX,
        "is_sent = left[each.channel_id] >= 0",
        "is_sent = True",
        ("tests/app/alerts/test_outbox.py",),
        ("tests/app/alerts",),
    ),
    Fault(
        "an address inside the service's own network is posted to",
        "app/underfed_server/alerts/sending/addresses.py",
        "if not real.is_global or real.is_multicast:",
        "if real.is_multicast:",
        ("tests/app/alerts/test_hostile.py",),
    ),
)
