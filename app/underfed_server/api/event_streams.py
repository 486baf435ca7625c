"""Server-sent events: changes of runs, read and written once, and sent to every open page over one stream each."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import NamedTuple

from underfed_server.errors import TooManyRequestsError
from underfed_server.model import RunEvent, RunSummary
from underfed_server.store.databases.tables import MICROSECOND, UNIX_EPOCH

ALL_RUNS = "runs"
BEAT = "event: beat\ndata: {}\n\n"
"""An event and not a comment, so that the page receives it: no browser reports a stream that was cut without a word."""

HEARTBEAT_S = 10.0
"""Proxies close a silent connection, usually after a minute, and a dead client is noticed only by writing to it."""

OVERLAP = timedelta(seconds=2)
"""A resumed stream begins so much earlier: an event gets its number a moment after its change was written."""

SET_BACK = timedelta(days=1)

MOST_STREAMS = 2_000
MOST_OF_A_CLIENT = 100
"""An address, behind which an office may sit; a page has one stream."""

MOST_OF_A_TOKEN = 500
"""All browsers that signed in with it, or all pages of a user that a proxy names."""

MOST_AT_ONCE = 50
"""Events that are one piece of a stream: what its client does not read yet is not written yet."""

Read = Callable[[datetime], Sequence[RunSummary]]
"""Reads the runs that changed since, of which clients may have missed an event."""


class Watching(NamedTuple):
    """What the client of a stream may watch."""

    see: Callable[[str], bool]
    """Whether it may watch runs of a project."""
    go_on: Callable[[], bool]
    """Whether it may still watch: tokens and sessions end."""


EVERYBODY = Watching(see=lambda project: True, go_on=lambda: True)  # noqa: ARG005


def topic_of(run_id: str) -> str:
    return f"run:{run_id}"


class _Event:
    """Written once for each topic, however many streams send it."""

    __slots__ = ("_changed", "_written", "diagnosis_changed", "number", "run")

    def __init__(self, number: int, run: RunSummary, *, diagnosis_changed: bool) -> None:
        self.number = number
        self.run = run
        self.diagnosis_changed = diagnosis_changed
        self._written: dict[str, str] = {}
        self._changed: _Event | None = None

    def written(self, topic: str) -> str:
        if topic not in self._written:
            deleted = self.run.deleted_at is not None
            event = RunEvent(topic=topic, run=self.run, diagnosis_changed=self.diagnosis_changed, deleted=deleted)
            self._written[topic] = f"id: {self.number}\ndata: {event.model_dump_json(by_alias=True)}\n\n"
        return self._written[topic]

    def changed(self) -> _Event:
        """The same, saying that the diagnosis changed."""
        if self.diagnosis_changed:
            return self
        if self._changed is None:
            self._changed = _Event(self.number, self.run, diagnosis_changed=True)
        return self._changed


class _Watcher:
    """One open stream. Of each run it holds only the newest event not yet sent, so it never falls behind."""

    def __init__(self, topics: Sequence[str], may: Watching) -> None:
        self.topics = topics
        self.may = may
        self.loop = asyncio.get_running_loop()
        self.pending: dict[str, _Event] = {}
        self.wake = asyncio.Event()

    def put(self, event: _Event) -> None:
        """Called on the stream's own event loop."""
        run_id = event.run.run_id
        before = self.pending.pop(run_id, None)
        self.pending[run_id] = event.changed() if before is not None and before.diagnosis_changed else event
        self.wake.set()

    def recall(self, event: _Event) -> None:
        """Send the state of a run, unless a newer event of it waits."""
        if self.watches(event.run) and event.run.run_id not in self.pending:
            self.put(event)

    def watches(self, run: RunSummary) -> bool:
        return self.may.see(run.project) and (ALL_RUNS in self.topics or topic_of(run.run_id) in self.topics)

    def take(self) -> str:
        """Some of what waits, once for each topic that it belongs to; empty: nothing waits."""
        taken = list(self.pending)[:MOST_AT_ONCE]
        if len(taken) == len(self.pending):
            self.wake.clear()
        return "".join(
            event.written(topic)
            for event in [self.pending.pop(run_id) for run_id in taken]
            for topic in (ALL_RUNS, topic_of(event.run.run_id))
            if topic in self.topics
        )


class _SharedRead:
    """Streams that resume at the same time wait for one read. On one event loop."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._reading = asyncio.Lock()
        self._next: asyncio.Task[Sequence[_Event]] | None = None
        self._since: datetime | None = None

    async def since(self, since: datetime) -> Sequence[_Event]:
        """The states of the runs that changed since then, or earlier where others ask for more."""
        self._since = since if self._since is None else min(since, self._since)
        if self._next is None:
            self._next = asyncio.get_running_loop().create_task(self._read_next())
        # One client that leaves must not end the read of the others.
        return await asyncio.shield(self._next)

    async def _read_next(self) -> Sequence[_Event]:
        async with self._reading:
            # Who asks from here on may miss what is read now, and waits for the next one.
            since, self._since, self._next = self._since, None, None
            assert since is not None
            runs = await asyncio.to_thread(self._read, since)
        return [_Event(time.time_ns() // 1_000, run, diagnosis_changed=True) for run in runs]


class Events:
    """Published from any thread, watched on event loops."""

    def __init__(self, read: Read = lambda since: ()) -> None:  # noqa: ARG005
        self._missed = _SharedRead(read)
        self._seats: Counter[str] = Counter()
        self._watchers: set[_Watcher] = set()
        self._lock = threading.Lock()
        self._last_number = 0
        self._is_closed = False

    def publish(self, run: RunSummary, *, diagnosis_changed: bool = False) -> None:
        with self._lock:
            # Numbers are Unix microseconds: a client may present one after the service was restarted.
            self._last_number = max(self._last_number + 1, time.time_ns() // 1_000)
            event = _Event(self._last_number, run, diagnosis_changed=diagnosis_changed)
            watchers = [watcher for watcher in self._watchers if watcher.watches(run)]
            for watcher in watchers:
                watcher.loop.call_soon_threadsafe(watcher.put, event)

    @contextmanager
    def seat(self, client: str, token: str) -> Iterator[None]:
        """For as long as a stream is open. On one event loop.

        Raises:
            TooManyRequestsError: this client, its token or all together have as many as they may.
        """
        for key, most, whose in (
            ("", MOST_STREAMS, "this service has"),
            (f"client {client}", MOST_OF_A_CLIENT, "this client has"),
            (f"token {token}", MOST_OF_A_TOKEN, "the pages of this token have"),
        ):
            if self._seats[key] >= most:
                raise TooManyRequestsError(f"{whose} {most} event streams open, which is the most", retry_after_s=15)
        keys = ("", f"client {client}", f"token {token}")
        self._seats.update(keys)
        try:
            yield
        finally:
            self._seats.subtract(keys)
            for key in keys:
                if not self._seats[key]:
                    del self._seats[key]

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
        self, topics: Sequence[str], since: datetime | None = None, may: Watching = EVERYBODY
    ) -> AsyncIterator[str]:
        """The stream's text, until the client goes, may no longer watch, or the service stops. What changed ``since``
        is sent first.
        """
        watcher = _Watcher(topics, may)
        with self._lock:
            self._watchers.add(watcher)
        try:
            # Sent at once: the browser's `open` fires with the first bytes that a proxy lets through.
            yield ": open\n\n"
            # Read once the stream is registered: no event is lost between the missed ones and the new ones.
            for event in await self._missed.since(since) if since is not None else ():
                watcher.recall(event)
            while not self._is_closed and may.go_on():
                if text := watcher.take():
                    yield text
                if not await _woken(watcher.wake, HEARTBEAT_S):
                    yield BEAT
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
