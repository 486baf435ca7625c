"""Follows the runs: has each judged when its windows arrive, and notifies the open pages."""

from __future__ import annotations

import logging
import math
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple, Protocol, TypeVar

from underfed_server.api.due_runs import DueRuns
from underfed_server.api.event_streams import Events
from underfed_server.counters import Counters
from underfed_server.diagnose import FoundDiagnosis, save
from underfed_server.errors import NotFoundError, TryLaterError
from underfed_server.model import RunSummary
from underfed_server.store.databases.trouble import log_failure
from underfed_server.store.reading.spark import Curve, read_spark
from underfed_server.store.store import Store
from underfed_server.store.writing.counted_window import CountedWindow

log = logging.getLogger("underfed.scheduler")

T = TypeVar("T")

Judge = Callable[[Store, str], tuple[FoundDiagnosis | None, Curve]]
"""Reads a run from the store: what is to be saved of its diagnosis, or ``None`` where the last one stays, and its
curve."""

AHEAD = 2
"""One run is judged, and the judge has the next one by then: an answer waits for a turn of the interpreter of the
service, which receives windows meanwhile. Any other is chosen once it is its turn: what ended by then comes first."""

SWEEP_S = 5.0
"""How often silent runs are looked for: they become lost without any event."""

AGAIN_S = 5.0
"""After which a run that another service process judges is asked for again: that process may be gone."""

CONFIRM_EVERY_S = 1.0
"""How often verdicts are confirmed, while windows come."""

CLOSING_S = 1.5

NEWEST = 0.1
"""Share of the newest judgement in how long one takes."""


class NewJudgement(NamedTuple):
    as_of: datetime
    """What came later is not in it."""
    diagnosis: FoundDiagnosis | None
    """``None``: the last one stays."""
    curve: Curve


class Watcher(Protocol):
    """Has alerts of runs sent; called by one thread at a time."""

    def __call__(self, run_id: str) -> None:
        """Look at a run whose judgement was saved just now."""

    def look_again(self) -> None:
        """Look at runs that are not judged any more, since nothing comes from them."""


class JudgementScheduler:
    """Starts with :meth:`start`, ends with :meth:`close`."""

    def __init__(
        self,
        store: Store,
        events: Events,
        judge: Judge | None,
        watcher: Watcher,
        counters: Counters,
        at_once: int = 1,
    ) -> None:
        """``at_once``: so many threads follow a run each, of which :data:`AHEAD` have it judged, and others save what
        was found."""
        self._store = store
        self._watcher = watcher
        self._events = events
        self._judge = judge
        self._turns = threading.Semaphore(AHEAD)
        self._name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._counters = counters
        # Where the database is shared, windows come to other processes too.
        self._due = DueRuns(sees_all=not store.is_shared)
        self._awaited: set[str] = set()
        self._ended: set[str] = set()
        self._in_hand: set[str] = set()
        self._noted_at = store.now()
        self._judgement_s = 0.0
        self._sweep_at = time.monotonic()
        self._confirm_at = math.inf
        self._changed = threading.Condition()
        self._watching = threading.Lock()
        self._is_closing = False
        self._threads = [
            threading.Thread(target=self._run, name=f"underfed-scheduler-{number}", daemon=True)
            for number in range(at_once)
        ]

    @property
    def lag_s(self) -> float:
        """How long the run has waited that has waited longest to be judged. Any thread."""
        with self._changed:
            next_at = self._due.next_at()
            return 0.0 if next_at is None else max(0.0, time.monotonic() - next_at)

    def start(self) -> None:
        self._store.listen(self._note)
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._turns.release(len(self._threads))
        # A judgement in progress is not waited for: the run is judged again after the next start.
        until = time.monotonic() + CLOSING_S
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, until - time.monotonic()))
        try:
            self._store.release(self._name)
        except TryLaterError as error:
            log.warning("the runs were not left to other processes: %s", error)

    def touch(self, run_ids: Collection[str], ended: Collection[str] = ()) -> None:
        """Something happened to these runs, of which all ranks of ``ended`` have ended. Does not block; any thread."""
        now = time.monotonic()
        with self._changed:
            self._due.touch(run_ids, now)
            self._note_ended(ended)

    def _note(self, stored: Sequence[CountedWindow], ended: Collection[str]) -> None:
        """These windows were stored, and all ranks of the runs ``ended`` have ended. On the writer's thread."""
        now = time.monotonic()
        with self._changed:
            # The writer stores nothing meanwhile.
            self._noted_at = self._store.now()
            self._confirm_at = min(self._confirm_at, now + CONFIRM_EVERY_S)
            self._due.note(stored, now)
            self._note_ended(ended)

    def _note_ended(self, ended: Collection[str]) -> None:
        """Under the lock, after all else: it wakes a thread."""
        self._ended.update(ended)
        self._changed.notify()

    def hurry(self, run_id: str) -> None:
        """Somebody waits for the verdict on this run: it is judged before others, and as soon as it is due. Does not
        block; any thread."""
        with self._changed:
            self._awaited.add(run_id)
        self.touch({run_id})

    def _run(self) -> None:
        while not self._is_closing:
            if self._is_time_to_sweep():
                self._sweep()
            self._confirm()
            # Whoever waits for a turn sweeps and confirms meanwhile: a judgement may hang.
            if not self._turns.acquire(timeout=max(0.0, self._look_at() - time.monotonic())):
                continue
            try:
                run_id = self._next()
                begun = time.monotonic()
                found = None if run_id is None else self._find(run_id)
                found_s = time.monotonic() - begun
            finally:
                self._turns.release()
            if run_id is None:
                continue
            if found is not None:
                self._save(run_id, found)
            self._counters.judgement_seconds.observe(time.monotonic() - begun)
            with self._changed:
                self._judgement_s += NEWEST * (found_s - self._judgement_s)
                self._in_hand.discard(run_id)
                self._changed.notify()

    def _look_at(self) -> float:
        """When there is something to do beside judging."""
        return min(self._sweep_at, self._confirm_at)

    def _confirm(self) -> None:
        """By one of the threads, where it is time: all verdicts that hold."""
        with self._changed:
            now = time.monotonic()
            if now < self._confirm_at:
                return
            # The next windows set it.
            self._confirm_at = math.inf
            confirmed, as_of = self._due.confirm(now), self._noted_at
        if not confirmed:
            return
        try:
            self._store.note_confirmed(confirmed, as_of)
        except Exception as error:
            log_failure(log, error, "verdicts that hold could not be confirmed")
        for run_id in confirmed:
            with self._failures_logged(run_id):
                self._watch(run_id)
                self._publish(run_id, diagnosis_changed=False)

    def _is_time_to_sweep(self) -> bool:
        """For one of the threads."""
        with self._changed:
            is_time = time.monotonic() >= self._sweep_at
            if is_time:
                self._sweep_at = time.monotonic() + SWEEP_S
            return is_time

    def _next(self) -> str | None:
        """Waits for the run whose turn it is, of several one that is awaited, or has ended: its last figures are what
        is looked at next. ``None``: none is due before the next sweep, or the scheduler closes.
        """
        with self._changed:
            ready = self._ready()
            if not ready and not self._is_closing:
                # A run that another thread judges is waited for until that is done.
                next_at = self._due.next_at(but=self._in_hand)
                until = self._look_at() if next_at is None else min(self._look_at(), next_at)
                self._changed.wait(max(0.0, until - time.monotonic()))
                ready = self._ready()
            if self._is_closing:
                return None
            first = (run_id for some in (self._awaited, self._ended) for run_id in ready if run_id in some)
            run_id = next(first, None) or next(iter(ready), None)
            if run_id is not None:
                self._due.take(run_id, time.monotonic())
                self._in_hand.add(run_id)
                self._awaited.discard(run_id)
                self._ended.discard(run_id)
            return run_id

    def _ready(self) -> list[str]:
        return [run_id for run_id in self._due.ready(time.monotonic()) if run_id not in self._in_hand]

    def _sweep(self) -> None:
        try:
            self.touch(set(self._store.unjudged()))
        except Exception as error:
            log_failure(log, error, "runs that fell silent could not be looked for")
        try:
            with self._watching:
                self._watcher.look_again()
        except Exception as error:
            log_failure(log, error, "alerts of runs that fell silent could not be looked for")
        with self._changed:
            self._due.note_pace(self._judgement_s, time.monotonic())
            self._due.forget_silent(time.monotonic())

    def _find(self, run_id: str) -> NewJudgement | None:
        """``None``: the run is not to be judged here now."""
        with self._failures_logged(run_id):
            if self._store.claim(run_id, self._name):
                return NewJudgement(self._store.now(), *self._judged(run_id))
            self._defer(run_id)
        return None

    def _save(self, run_id: str, found: NewJudgement) -> None:
        diagnosis = found.diagnosis
        with self._failures_logged(run_id):
            judgement = None
            if diagnosis is not None:
                judgement = self._unless_it_fails(run_id, lambda: save(self._store, diagnosis))
            self._watch(run_id)
            self._store.note_judged(run_id, found.curve, found.as_of)
            if judgement is not None:
                verdict = judgement.verdict
                with self._changed:
                    self._due.note_verdict(
                        run_id, None if verdict is None else (verdict.bound, verdict.level, verdict.cause)
                    )
            self._publish(run_id, diagnosis_changed=judgement is not None and judgement.is_new)

    def _publish(self, run_id: str, *, diagnosis_changed: bool) -> None:
        # Where the database is shared, every process notifies its own pages: see Follower.
        if not self._store.is_shared and self._events.open_streams:
            self._events.publish(self._store.summary(run_id), diagnosis_changed=diagnosis_changed)

    @contextmanager
    def _failures_logged(self, run_id: str) -> Iterator[None]:
        """What cannot be done is logged, unless the run was deleted meanwhile."""
        try:
            yield
        except NotFoundError:
            return
        except Exception as error:
            if not self._is_closing:
                log_failure(log, error, f"run {run_id} could not be followed")

    def _watch(self, run_id: str) -> None:
        """Before the run is noted as judged: where this service ends in between, the next one does both again."""
        try:
            with self._watching:
                self._watcher(run_id)
        except (NotFoundError, TryLaterError):
            raise
        except Exception as error:
            log_failure(log, error, f"alerts of run {run_id} could not be looked for")

    def publish(self, run: RunSummary) -> None:
        """Send the open pages the run as it is now: deleted, for one. Does not block; any thread."""
        # Where the database is shared, every process notifies its own pages: see Follower.
        if not self._store.is_shared:
            self._events.publish(run)

    def _defer(self, run_id: str) -> None:
        """Another process judges it."""
        with self._changed:
            self._due.defer(run_id, time.monotonic() + AGAIN_S)

    def _judged(self, run_id: str) -> tuple[FoundDiagnosis | None, Curve]:
        judge = self._judge
        found = None if judge is None else self._unless_it_fails(run_id, lambda: judge(self._store, run_id))
        if found is not None:
            return found
        with self._store.reading(steps_alone=True) as reader:
            return None, read_spark(reader, run_id)

    def _unless_it_fails(self, run_id: str, work: Callable[[], T]) -> T | None:
        """``None``: the last diagnosis of the run stays. Its windows and its line in the list must not wait until the
        rule is repaired."""
        try:
            return work()
        except (NotFoundError, TryLaterError):
            raise
        except Exception as error:
            if not self._is_closing:
                log_failure(log, error, f"run {run_id} could not be judged")
            return None
