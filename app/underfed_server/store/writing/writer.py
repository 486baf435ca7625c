"""The one thread that writes. It commits what waits in groups, and answers when that is on disk."""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, delete, insert
from sqlalchemy.exc import DBAPIError

from underfed_server.counters import Counters
from underfed_server.errors import OutOfOrderError, RequestError, TryLaterError
from underfed_server.ingest.posted import Ack, Outcome, PostedWindow, RunVerdict
from underfed_server.store.databases import tables
from underfed_server.store.databases.journal import Journal
from underfed_server.store.databases.trouble import TroubleLog, trouble_of
from underfed_server.store.writing.compact import (
    ASIDE_S,
    Compaction,
    CompactionQueue,
    NotElsewhereError,
    compact,
    finish,
)
from underfed_server.store.writing.counted_window import CountedWindow, counted
from underfed_server.store.writing.streams import StreamKey
from underfed_server.store.writing.windows import Appender, stream_of

log = logging.getLogger("underfed.store")

T = TypeVar("T")

Stored = Callable[[Sequence[CountedWindow], set[str]], None]
"""Called with new windows, and with those of their runs that have ended."""

MOST_WAITING = 2_000
"""Windows that may wait: a second of the writer's work. More would wait longer than an agent does."""

MOST_WAITING_BYTES = 128 * 2**20
"""Decoded: what is posted may be a thousandth of what it takes in memory."""

GROUP = 500
"""Windows committed together. One fsync serves them all; a larger group only makes its first one wait longer."""

GATHER_S = 0.004
"""So long a group waits for more windows while several come at a time: committed alone, a window takes several times
the CPU that it takes in a group of sixteen. Agents do not notice; one that posts alone is answered at once."""

ENOUGH = 64
"""Windows that wait for no others: what a commit takes by itself is then little of it."""

IDLE_S = 1.0
CLOSING_S = 30.0
RECALL_S = 60.0
"""How often streams that another process left are looked for, where several share a database."""

PROVEN_S = 10.0
"""How long a successful write counts as proof for health checks, which then need not write themselves."""

ATTEMPTS = 5
"""Tries of a transaction that collides with another process's: each time one of the two succeeds."""

COLLISIONS = ("40001", "40P01")
"""PostgreSQL's codes for "could not serialise" and "deadlock detected"."""


Prepare = Callable[[StreamKey], Compaction | None]
"""As :func:`compact.prepare`, by another process. Raises :class:`NotElsewhereError` once it cannot any more."""


@dataclass(slots=True)
class _Post:
    counted: CountedWindow
    done: Future[Outcome] = field(default_factory=Future)


@dataclass(slots=True)
class _Call:
    work: Callable[[Connection], Any]
    done: Future[Any] = field(default_factory=Future)


class Writer:
    """Starts with :meth:`start`, ends with :meth:`close`. Any thread may submit and call."""

    def __init__(
        self,
        engine: Engine,
        appender: Appender,
        on_stored: Stored,
        on_answered: Callable[[], None],
        counters: Counters,
        *,
        is_shared: bool,
        file: Path | None = None,
        prepare: Prepare | None = None,
    ) -> None:
        """``on_stored`` is called on the writer's thread after each group and before the futures of it are done,
        ``on_answered`` after that; they must not block.

        ``is_shared``: other processes write to the same database. ``file``: SQLite's. ``prepare`` is called on a thread
        of its own; ``None``: the writer's thread computes chunks itself, and windows wait meanwhile.
        """
        self._engine = engine
        self._file = file
        self._journal: Journal | None = None
        """Of ``file``, once windows are written to it."""
        self._is_shared = is_shared
        self._recall_at = math.inf
        self._appender = appender
        self._on_stored = on_stored
        self._on_answered = on_answered
        self._queue = CompactionQueue()
        self._prepare = prepare
        self._to_prepare: SimpleQueue[StreamKey | None] = SimpleQueue()
        self._prepared: deque[tuple[StreamKey, Exception | None]] = deque()
        self._counters = counters
        self._trouble_log = TroubleLog()
        self._written_at = -math.inf
        self._proving = threading.Lock()
        self._calls: deque[_Call] = deque()
        self._waiting: deque[_Post] = deque()
        self._waiting_bytes = 0
        self._had_company = False
        """The last window was not alone in its group."""
        self._changed = threading.Condition()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="underfed-writer", daemon=True)

    def start(self) -> None:
        if self._file is not None:
            self._journal = Journal(self._engine, self._file)
        self._recall()
        self._thread.start()
        if self._prepare is not None:
            threading.Thread(
                target=self._prepare_each, args=(self._prepare,), name="underfed-compaction", daemon=True
            ).start()

    def submit(self, posted: PostedWindow) -> Future[Outcome]:
        """The future is done once the window is on disk, or was refused.

        Raises:
            TryLaterError: too much is waiting already, or the service is stopping.
        """
        post = _Post(counted(posted))
        with self._changed:
            self._require_open()
            if len(self._waiting) >= MOST_WAITING or self._waiting_bytes > MOST_WAITING_BYTES:
                raise TryLaterError("more windows arrive than can be written", retry_after_s=2)
            self._waiting.append(post)
            self._waiting_bytes += posted.held_bytes
            self._changed.notify()
        return post.done

    def call(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a transaction of the writer's, and return what it returned once that is on disk. It is done
        before all windows that wait: where many do, a verdict would be seconds old before it is saved.

        Where other processes write too, one thread is no advantage: the call uses its own connection.

        Raises:
            TryLaterError: the service is stopping, or the database cannot be written.
        """
        if self._is_shared:
            return self._call_apart(work)
        call = _Call(work)
        with self._changed:
            self._require_open()
            self._calls.append(call)
            self._changed.notify()
        result: T = call.done.result()
        return result

    def forget(self, run_id: str) -> None:
        """Only from within a :meth:`call` that deletes the run."""
        # Where the database is shared, nothing is remembered from one transaction to the next.
        if not self._is_shared:
            self._appender.states.forget(run_id)
            self._queue.forget(run_id)

    def note_verdict(self, run_id: str, verdict: RunVerdict | None) -> None:
        """Only from within a :meth:`call` that saves it."""
        # Where the database is shared, it is read with the run's state.
        if not self._is_shared:
            self._appender.states.note_verdict(run_id, verdict)

    def note_judged(self, run_id: str, as_of: datetime) -> None:
        """Likewise, since when that verdict is of."""
        if not self._is_shared:
            self._appender.states.note_judged(run_id, as_of)

    @property
    def waiting(self) -> tuple[int, int]:
        """Writes that wait, and the bytes that the windows among them take in memory, at most."""
        return len(self._calls) + len(self._waiting), self._waiting_bytes

    @property
    def aside(self) -> int:
        """Streams that could not be compacted."""
        return self._queue.aside

    def check(self) -> None:
        """Raises:
        TryLaterError: nothing can be written; the message says why.
        """
        if not self._thread.is_alive():
            raise TryLaterError("the thread that writes has ended; restart the service", retry_after_s=5)
        # While a disk hangs, each health check must not hold one more thread.
        if not self._proving.acquire(timeout=PROVEN_S / 2):
            raise TryLaterError("a write has taken longer than it should", retry_after_s=5)
        try:
            if self._trouble_log.trouble is not None or time.monotonic() - self._written_at > PROVEN_S:
                self.call(_prove_writable)
        finally:
            self._proving.release()
        # A small write may succeed on a disk that is too full for windows.
        if self._trouble_log.trouble is not None:
            raise TryLaterError(f"the database cannot be written: {self._trouble_log.trouble}", retry_after_s=5)

    def close(self) -> None:
        """Write what waits, then end."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._to_prepare.put(None)
        if self._thread.ident is not None:
            self._thread.join(CLOSING_S)
        if self._journal is not None:
            self._journal.close()

    def _require_open(self) -> None:
        if self._is_closing:
            raise TryLaterError("the service is stopping", retry_after_s=5)

    def _run(self) -> None:
        while (group := self._take()) is not None:
            try:
                self._take_on(group)
                self._note_prepared()
                self._compact(self._queue.next_due(look_for_quiet=not group))
                if time.monotonic() >= self._recall_at:
                    self._recall()
                if self._journal is not None:
                    self._journal.bound()
            except Exception as error:
                # After any error, posts and readers must not wait for a thread that has ended.
                if trouble_of(error) is None:
                    log.exception("the writer failed, and goes on")
                else:
                    self._trouble_log.note(error)

    def _take(self) -> list[_Post | _Call] | None:
        """Waiting writes, up to a group; empty after a while without any; ``None`` once all is written and we close."""
        with self._changed:
            if not (self._calls or self._waiting or self._is_closing or self._queue.are_due or self._prepared):
                self._changed.wait(IDLE_S if self._journal is None else min(IDLE_S, self._journal.due_in()))
            if not (self._calls or self._waiting) and self._is_closing:
                return None
            is_waited_for = self._calls or self._is_closing
            is_worth_waiting = self._had_company and 0 < len(self._waiting) < ENOUGH and not is_waited_for
        if is_worth_waiting:
            # Without the condition: each window would wake this thread.
            time.sleep(GATHER_S)
        with self._changed:
            calls = [self._calls.popleft() for _ in range(len(self._calls))]
            posts = [self._waiting.popleft() for _ in range(min(GROUP, len(self._waiting)))]
            self._waiting_bytes -= sum(each.counted.posted.held_bytes for each in posts)
        if posts:
            self._had_company = len(posts) > 1
        return [*calls, *posts]

    def _take_on(self, group: Sequence[_Post | _Call]) -> None:
        try:
            self._commit([each for each in group if each.done.set_running_or_notify_cancel()])
        finally:
            self._on_answered()

    def _commit(self, group: Sequence[_Post | _Call]) -> None:
        if not group:
            return
        begun = time.monotonic()
        try:
            results = self._begun(lambda connection: self._perform(connection, group))
        except Exception as error:
            self._commit_apart(group, error)
            return
        try:
            self._note_written(len(group), begun)
            self._note(group, results)
        finally:
            for each, result in zip(group, results, strict=True):
                if isinstance(each, _Call) and isinstance(result, RequestError):
                    each.done.set_exception(result)
                else:
                    each.done.set_result(result)

    def _note_written(self, size: int, begun: float) -> None:
        self._written_at = time.monotonic()
        self._trouble_log.note(None)
        self._counters.group_size.observe(size)
        self._counters.commit_seconds.observe(self._written_at - begun)

    def _begun(self, work: Callable[[Connection], T]) -> T:
        """``work`` in a transaction of its own, repeated where it collided with another process's."""
        for attempt in range(ATTEMPTS):
            try:
                with self._engine.begin() as connection:
                    return work(connection)
            except Exception as error:
                if not self._is_shared:
                    self._appender.states.forget()
                if attempt == ATTEMPTS - 1 or not _collided(error):
                    self._counters.writer_failures.inc(not isinstance(error, RequestError))
                    raise
        raise AssertionError

    def _call_apart(self, work: Callable[[Connection], T]) -> T:
        self._require_open()
        try:
            result = self._begun(work)
        except Exception as error:
            raise self._explained(error) from error
        self._trouble_log.note(None)
        return result

    def _commit_apart(self, group: Sequence[_Post | _Call], error: Exception) -> None:
        """One write made the group's transaction fail: each gets its own, unless the database is in trouble."""
        if len(group) == 1 or trouble_of(error) is not None:
            for each in group:
                each.done.set_exception(self._explained(error))
            return
        for each in group:
            self._commit([each])

    def _explained(self, error: Exception) -> Exception:
        trouble = self._trouble_log.note(error)
        if trouble is not None:
            return TryLaterError(f"the database cannot be written: {trouble}", retry_after_s=5)
        if not isinstance(error, RequestError):
            log.error("a write failed", exc_info=error)
        return error

    def _perform(self, connection: Connection, group: Sequence[_Post | _Call]) -> list[Any]:
        posts = [each.counted for each in group if isinstance(each, _Post)]
        outcomes = iter(self._appender.append(connection, posts))
        return [next(outcomes) if isinstance(each, _Post) else _called(connection, each) for each in group]

    def _note(self, group: Sequence[_Post | _Call], results: Sequence[Any]) -> None:
        posts = [(each.counted, result) for each, result in zip(group, results, strict=True) if isinstance(each, _Post)]
        acknowledged = [(each, outcome.is_new) for each, outcome in posts if isinstance(outcome, Ack)]
        stored = [each for each, is_new in acknowledged if is_new]
        for each in stored:
            key = stream_of(each.window)
            self._queue.note(key, *self._appender.hot_of(key), has_ended=each.window.end is not None)
        counters = self._counters
        counters.out_of_order.inc(sum(isinstance(outcome, OutOfOrderError) for _, outcome in posts))
        counters.repeats.inc(len(acknowledged) - len(stored))
        if stored:
            counters.windows.inc(len(stored))
            counters.steps.inc(sum(each.step_count for each in stored))
            counters.bytes.inc(sum(len(each.posted.body) for each in stored))
            ended = {each.window.run_id for each in stored if each.window.end} & self._appender.ended
            self._on_stored(stored, ended)

    def _compact(self, key: StreamKey | None) -> None:
        if key is None:
            return
        if self._prepare is not None:
            self._queue.hold(key)
            self._to_prepare.put(key)
            return
        try:
            done = self._begun(lambda connection: compact(connection, key))
        except Exception as error:
            self._set_aside(key, error)
            return
        if done is not None:
            self._appender.states.note_compacted(key, done.rows, done.windows)

    def _prepare_each(self, prepare: Prepare) -> None:
        """On a thread that mostly waits: for the process that computes, then for the writer."""
        while (key := self._to_prepare.get()) is not None:
            try:
                prepared = prepare(key)
                if prepared is not None:
                    self.call(partial(self._finish, prepared))
                failed = None
            except Exception as error:
                failed = error
            with self._changed:
                self._prepared.append((key, failed))
                self._changed.notify()

    def _finish(self, prepared: Compaction, connection: Connection) -> None:
        # Where the database is shared, nothing is remembered from one transaction to the next.
        if finish(connection, prepared) and not self._is_shared:
            self._appender.states.note_compacted(prepared.key, prepared.rows, prepared.windows)

    def _note_prepared(self) -> None:
        while self._prepared:
            key, failed = self._prepared.popleft()
            if isinstance(failed, NotElsewhereError):
                self._prepare = None
            elif failed is not None and not self._is_closing:
                self._set_aside(key, failed)
            with self._engine.begin() as connection:
                self._queue.release(connection, key)

    def _set_aside(self, key: StreamKey, error: Exception) -> None:
        """One stream that cannot be compacted keeps no other from it: what it holds stays as it came, and readable."""
        trouble = self._trouble_log.note(error)
        self._queue.set_aside(key)
        self._counters.compaction_failures.inc()
        what = "run %s, rank %d, incarnation %d could not be compacted and is set aside for %d minutes: %s"
        minutes = ASIDE_S / 60
        log.error(what, *key, minutes, trouble or error, exc_info=None if trouble else error)

    def _recall(self) -> None:
        with self._engine.begin() as connection:
            self._queue.recall(connection)
        if self._is_shared:
            self._recall_at = time.monotonic() + RECALL_S


def _collided(error: Exception) -> bool:
    return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) in COLLISIONS


def _called(connection: Connection, call: _Call) -> Any:
    """The call's result, or its error, which rolls back what the call wrote and nothing else of the group."""
    # Not SQLAlchemy's nested transaction, which takes as long as a usual call.
    connection.exec_driver_sql("SAVEPOINT call")
    try:
        result = call.work(connection)
    except RequestError as error:
        connection.exec_driver_sql("ROLLBACK TO call")
        result = error
    connection.exec_driver_sql("RELEASE call")
    return result


def _prove_writable(connection: Connection) -> None:
    """Write a row and delete it in the same transaction: only a write proves it, and no reader sees this one.

    An empty transaction would not touch the disk, so a full disk would pass for healthy.
    """
    session, digest = tables.session, os.urandom(32)
    row = {"digest": digest, "token_id": "", "expires_at": tables.UNIX_EPOCH}
    connection.execute(insert(session).values(row))
    connection.execute(delete(session).where(session.c.digest == digest))
