"""Where several service processes share a database: the thread that finds what the others wrote.

It polls once a second. PostgreSQL's NOTIFY would be immediate, but locks the whole database at every commit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from underfed_server.api.event_streams import Events
from underfed_server.errors import NotFoundError
from underfed_server.store.runs.listing import RunChange
from underfed_server.store.store import Store
from underfed_server.store.upkeep.periodic import PeriodicThread

EVERY_S = 1.0
OVERLAP = timedelta(seconds=10)
"""Each poll reaches back so much further than the last one: clocks differ, and a commit comes after its timestamp."""

CLOSING_S = 5.0


class Follower:
    """Starts with :meth:`start`, ends with :meth:`close`."""

    def __init__(self, store: Store, events: Events, touch: Callable[[set[str], set[str]], None]) -> None:
        """``touch`` is called with the runs that have new windows, and with those among them that have ended."""
        self._store = store
        self._events = events
        self._touch = touch
        self._known: dict[str, RunChange] = {}
        self._since = store.now()
        failed = "what other processes wrote could not be followed"
        self._thread = PeriodicThread(
            "follower", self._follow, failed=failed, failed_s=EVERY_S, first_s=EVERY_S, closing_s=CLOSING_S
        )
        self.start = self._thread.start
        self.close = self._thread.close

    def _follow(self) -> float:
        begun = time.monotonic()
        self._look()
        # Rests as long as it worked: however many runs report, half a core is left for receiving their windows.
        return max(EVERY_S, time.monotonic() - begun)

    def _look(self) -> None:
        now = self._store.now()
        changes = [each for each in self._store.changes(self._since - OVERLAP) if self._known.get(each.run_id) != each]
        come = [each for each in changes if self._has_windows(each)]
        self._touch({each.run_id for each in come}, {each.run_id for each in come if not each.open_ranks})
        for each in changes:
            self._notify(each)
        self._known |= {each.run_id: each for each in changes}
        self._known = {run_id: each for run_id, each in self._known.items() if each.changed_at >= now - 2 * OVERLAP}
        self._since = now

    def _has_windows(self, change: RunChange) -> bool:
        known = self._known.get(change.run_id)
        return known is None or known.last_seen_at != change.last_seen_at

    def _notify(self, change: RunChange) -> None:
        if not self._events.open_streams:
            return
        known = self._known.get(change.run_id)
        changed = known is None or known.diagnosed_at != change.diagnosed_at
        try:
            run = self._store.state(change.run_id)
        except NotFoundError:
            return  # removed for good
        self._events.publish(run, diagnosis_changed=changed)
