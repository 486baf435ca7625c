"""Server-sent events: changes of runs, sent to every open page over one stream each."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from underfed_server.model import RunEvent, RunSummary
from underfed_server.store.databases.tables import MICROSECOND, UNIX_EPOCH

ALL_RUNS = "runs"
HEARTBEAT_S = 10.0
"""Proxies close a silent connection, usually after a minute, and a dead client is noticed only by writing to it."""

OVERLAP = timedelta(seconds=2)
"""A resumed stream begins so much earlier: an event gets its number a moment after its change was written."""

SET_BACK = timedelta(days=1)

Recall = Callable[[], Awaitable[Sequence[RunSummary]]]
"""Reads the runs of which a client may have missed an event."""


class Watching(NamedTuple):
    """What the client of a stream may watch."""

    see: Callable[[str], bool]
    """Whether it may watch runs of a project."""
    go_on: Callable[[], bool]
    """Whether it may still watch: tokens and sessions end."""


EVERYBODY = Watching(see=lambda project: True, go_on=lambda: True)  # noqa: ARG005


def topic_of(run_id: str) -> str:
    return f"run:{run_id}"


class _Watcher:
    """One open stream. Of each run it holds only the newest event not yet sent, so it never falls behind."""

    def __init__(self, topics: Sequence[str], may: Watching) -> None:
        self.topics = topics
        self.may = may
        self.loop = asyncio.get_running_loop()
        self.pending: dict[str, tuple[int, RunEvent]] = {}
        self.wake = asyncio.Event()

    def put(self, number: int, event: RunEvent) -> None:
        """Called on the stream's own event loop."""
        run_id = event.run.run_id
        before = self.pending.pop(run_id, None)
        if before is not None and before[1].diagnosis_changed:
            event = event.model_copy(update={"diagnosis_changed": True})
        self.pending[run_id] = (number, event)
        self.wake.set()

    def recall(self, run: RunSummary) -> None:
        """Send the state of ``run``, unless a newer event of it waits."""
        if self.watches(run) and run.run_id not in self.pending:
            self.put(time.time_ns() // 1_000, RunEvent(topic=topic_of(run.run_id), run=run, diagnosis_changed=True))

    def watches(self, run: RunSummary) -> bool:
        return self.may.see(run.project) and (ALL_RUNS in self.topics or topic_of(run.run_id) in self.topics)

    def take(self) -> list[tuple[int, RunEvent]]:
        """One event for each topic that a run's event belongs to."""
        pending, self.pending = self.pending, {}
        self.wake.clear()
        return [
            (number, event.model_copy(update={"topic": topic}))
            for run_id, (number, event) in pending.items()
            for topic in (ALL_RUNS, topic_of(run_id))
            if topic in self.topics
        ]


class Events:
    """Published from any thread, watched on event loops."""

    def __init__(self) -> None:
        self._watchers: set[_Watcher] = set()
        self._lock = threading.Lock()
        self._last_number = 0
        self._is_closed = False

    def publish(self, run: RunSummary, *, diagnosis_changed: bool = False, deleted: bool = False) -> None:
        topic = topic_of(run.run_id)
        event = RunEvent(topic=topic, run=run, diagnosis_changed=diagnosis_changed, deleted=deleted)
        with self._lock:
            # Numbers are Unix microseconds: a client may present one after the service was restarted.
            self._last_number = max(self._last_number + 1, time.time_ns() // 1_000)
            watchers = [watcher for watcher in self._watchers if watcher.watches(run)]
            for watcher in watchers:
                watcher.loop.call_soon_threadsafe(watcher.put, self._last_number, event)

    @property
    def open_streams(self) -> int:
        return len(self._watchers)

    def close(self) -> None:
        """End all streams at once: a service that stops must not wait for its watchers."""
        self._is_closed = True
        self.wake()

    def wake(self) -> None:
        """Have each stream check whether its client may still watch."""
        with self._lock:
            for watcher in self._watchers:
                watcher.loop.call_soon_threadsafe(watcher.wake.set)

    async def watch(
        self, topics: Sequence[str], recall: Recall | None = None, may: Watching = EVERYBODY
    ) -> AsyncIterator[str]:
        """The stream's text, until the client goes, may no longer watch, or the service stops. ``recall`` reads the
        runs that are sent first.
        """
        watcher = _Watcher(topics, may)
        with self._lock:
            self._watchers.add(watcher)
        try:
            # Sent at once: the browser's `open` fires with the first bytes that a proxy lets through.
            yield ": open\n\n"
            # Read once the stream is registered: no event is lost between the missed ones and the new ones.
            for run in await recall() if recall else ():
                watcher.recall(run)
            while not self._is_closed and may.go_on():
                for number, event in watcher.take():
                    yield f"id: {number}\ndata: {event.model_dump_json(by_alias=True)}\n\n"
                if not await _woken(watcher.wake, HEARTBEAT_S):
                    yield ": still here\n\n"
        finally:
            with self._lock:
                self._watchers.discard(watcher)


def since_of(last_event_id: str, now: datetime) -> datetime | None:
    """Since when a client that saw ``last_event_id`` may have missed events; ``None``: not one of our numbers."""
    if not (last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) <= 16):
        return None
    since = UNIX_EPOCH + int(last_event_id) * MICROSECOND - OVERLAP
    # The clock was set back since, by an unknown amount; sending too many events does no harm.
    return since if since <= now else now - SET_BACK


async def _woken(wake: asyncio.Event, within_s: float) -> bool:
    try:
        await asyncio.wait_for(wake.wait(), within_s)
    except asyncio.TimeoutError:
        return False
    return True
