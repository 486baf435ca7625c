"""Looks after each judgement of a run whether an alert is due, and queues it.

It is called between the judgement and the note that the run was judged: a service that ends in between judges the run
again after its next start, and no alert is lost. It sends nothing itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from underfed_server.alerts.conditions import CONDITIONS, Reading, Seen
from underfed_server.alerts.due import advance
from underfed_server.alerts.messages import message_of
from underfed_server.errors import NotFoundError
from underfed_server.model import Condition, RunSummary
from underfed_server.store.alerts.rules import RuleInForce
from underfed_server.store.alerts.states import RuleState, StateChange
from underfed_server.store.runs.status import LOST_AFTER
from underfed_server.store.store import Store

RELOAD_S = 1.0
"""A rule that another service process was given applies after so long."""

OVER_AFTER = timedelta(days=1)
"""A run that ended so long ago alerts nobody: an agent sends what it kept while the service was away."""

CHANGES_A_WRITE = 50

SILENT_S = LOST_AFTER.total_seconds()
"""As a run is taken for lost."""


@dataclass(slots=True)
class _Signs:
    """Of one host of a run, by this process's monotonic clock: a wall clock may be set."""

    end_us: int
    changed_at: float


@dataclass(slots=True)
class AlertWatcher:
    """Called by one thread at a time."""

    store: Store
    wake: Callable[[], None]
    """Called when there is something to send."""
    public_url: str | None = None
    """Of the service's page; ``None``: as whoever made a rule reached it."""
    clock: Callable[[], float] = time.monotonic
    _rules: Sequence[RuleInForce] = ()
    _reload_at: float = float("-inf")
    _signs: dict[str, dict[str, _Signs]] = field(default_factory=dict)

    def __call__(self, run_id: str) -> None:
        """Raises:
        NotFoundError: there is no such run.
        TryLaterError: the store cannot be written.
        """
        rules = self._in_force()
        if not rules:
            return
        run = self.store.summary(run_id)
        rules = [each for each in rules if _is_about(each, run, self.store.now())]
        if not rules:
            return
        seen = Seen(run, self.store.diagnosis(run_id), self._silent_hosts(run, rules))
        changes = self._changes(rules, seen)
        # A few at once: windows wait for the thread that writes.
        for first in range(0, len(changes), CHANGES_A_WRITE):
            if self.store.save_alert_states(run_id, changes[first : first + CHANGES_A_WRITE]):
                self.wake()

    def look_again(self) -> None:
        """At runs that no judgement follows any more, since nothing comes from them: whether that has lasted."""
        if any(each.rule.condition == "host_offline" for each in self._in_force()):
            for run_id in self.store.waiting_states("host_offline"):
                with suppress(NotFoundError):
                    self(run_id)

    def reload(self) -> None:
        """Read the rules again before the next judgement."""
        self._reload_at = float("-inf")

    def _in_force(self) -> Sequence[RuleInForce]:
        now = self.clock()
        if now >= self._reload_at:
            self._rules, self._reload_at = self.store.rules_in_force(), now + RELOAD_S
        return self._rules

    def _changes(self, rules: Sequence[RuleInForce], seen: Seen) -> list[StateChange]:
        now, run = self.store.now(), seen.run
        states = self.store.alert_states(run.run_id)
        readings: dict[tuple[Condition, float | None], Reading] = {}
        has_ended = run.status in ("finished", "crashed")
        changes = []
        for in_force in rules:
            rule, of = in_force.rule, (in_force.rule.condition, in_force.rule.threshold)
            if of not in readings:
                readings[of] = CONDITIONS[rule.condition].read(seen, rule.threshold or 0.0)
            before = states.get(rule.rule_id, RuleState())
            step = advance(rule, before, readings[of], now, has_ended=has_ended)
            if step.state == before:
                continue
            url = self.public_url or in_force.page_url
            message = (
                None if step.kind is None else message_of(rule, step.kind, step.headline, readings[of], seen, url, now)
            )
            changes.append(StateChange(rule.rule_id, before, step.state, rule.channel_id, rule.project, message))
        return changes

    def _silent_hosts(self, run: RunSummary, rules: Sequence[RuleInForce]) -> tuple[str, ...] | None:
        if run.status in ("finished", "crashed"):
            self._signs.pop(run.run_id, None)
            return ()
        if all(each.rule.condition != "host_offline" for each in rules):
            return None
        return self._silent(run)

    def _silent(self, run: RunSummary) -> tuple[str, ...]:
        """Hosts whose ranks are open and send nothing, where no other run sends anything from there either."""
        now, known = self.clock(), self._signs.setdefault(run.run_id, {})
        silent = []
        for signs in self.store.host_signs(run.run_id):
            before = known.get(signs.hostname)
            if before is None or before.end_us != signs.end_us:
                known[signs.hostname] = before = _Signs(signs.end_us, now)
            if signs.is_open and (run.status == "lost" or now - before.changed_at >= SILENT_S):
                silent.append(signs.hostname)
        if run.status == "lost":
            # Nothing more is learned from them.
            del self._signs[run.run_id]
        if not silent:
            return ()
        seen = self.store.hosts_seen_in_others(run.run_id, silent)
        return tuple(name for name in silent if name not in seen)


def _is_about(in_force: RuleInForce, run: RunSummary, now: datetime) -> bool:
    rule = in_force.rule
    # A rule of the future was made before the clock was set back.
    is_since = run.last_seen_at >= rule.made_at or rule.made_at > now
    is_over = run.ended_at is not None and run.last_seen_at - run.ended_at >= OVER_AFTER
    return rule.project in (None, run.project) and rule.user in (None, run.user) and is_since and not is_over
