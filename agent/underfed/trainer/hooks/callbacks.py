"""What runs at the edges of torch's iterator methods: two clock reads and one record a step, only for watched loaders.

Each method is called from within torch's own function (see ``splice``). None raises, and none runs the user's code.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from underfed.exchange import ring_format
from underfed.exchange.ring import HEADER_BYTES, RECORD_SHIFT
from underfed.exchange.ring_format import DEEPEST, DEPTH_BITS
from underfed.host.clock import Clock, now_ns
from underfed.trainer.hooks.session import LONG_WAIT_NS, PINNING, SAMPLED_OVERHEAD, Session
from underfed.trainer.loading.worker import WorkerPlan, is_no_batch, planned

KEY = "_underfed"
"""The session's place in the iterator's ``__dict__``: one dictionary look-up, and it goes with the iterator."""

DRAWN_SHIFT = DEPTH_BITS + 1
TIMED = 1 << DEPTH_BITS

Result = TypeVar("Result")
OpenRequest = tuple[Session, int, int]
"""Its session, when it was made, and queue depth + 1, with ``TIMED`` where the device is watched."""

Construction = tuple["Session | None", "WorkerPlan | None"]
"""The session of an iterator under construction, and the plan for workers that held before."""

OpenSession = Callable[[Any], "Session | None"]
"""Called with a loader whose iterator is under construction. ``None``: it is not recorded."""


class Settings(Protocol):
    """``--set`` and ``--apply``."""

    def before_iter(self, loader: Any) -> None:
        """A loader is about to make or reset an iterator."""


class Replaying(Settings, Protocol):
    """``--replay``."""

    def adopt(self, iterator: Any, loader: Any) -> None:
        """This iterator was made."""

    def instead(self, iterator: Any) -> Any:
        """A batch to hand out in place of a loaded one, or ``None``. Raises ``SystemExit`` when all is over."""

    def loaded(self, iterator: Any, batch: Any) -> None:
        """This batch is about to be handed out."""


class Callbacks:
    """The object whose methods are spliced into torch."""

    __slots__ = ("_now", "_open_session", "_replay", "_settings", "recorded", "sees_arrivals")

    def __init__(
        self,
        open_session: OpenSession,
        settings: Settings | None = None,
        replay: Replaying | None = None,
        now: Clock = now_ns,
    ) -> None:
        self._open_session = open_session
        self._settings = settings
        self._replay = replay
        self._now = now
        self.sees_arrivals = True
        """Without them nobody knows how many of the batches that came are waiting: then there is no queue depth."""
        self.recorded: weakref.WeakSet[Any] = weakref.WeakSet()
        """Iterators that were given a session."""

    # DataLoader.__iter__

    def iterating(self, loader: Any) -> None:
        if self._settings is not None:
            self._settings.before_iter(loader)
        if self._replay is not None:
            self._replay.before_iter(loader)

    # __init__ of an iterator class. Those of its bases run within: the outermost counts.

    def constructing(self, iterator: Any, loader: Any) -> Construction | None:
        if KEY in iterator.__dict__:
            return None
        session, before = self.attach(iterator, loader), planned.plan
        if session is None and before is None:
            return None
        # A sampler may itself begin to draw from another loader: its workers are not ours.
        planned.plan = session.worker_plan() if session is not None else None
        return session, before

    def constructed(self, token: Construction, iterator: Any, loader: Any, result: Result) -> Result:
        session, planned.plan = token
        try:
            if session is not None:
                session.constructed(iterator)
                if not self.sees_arrivals:
                    session.qsize = None
                if self._replay is not None:
                    self._replay.adopt(iterator, loader)
        except Exception as error:
            stop_recording(iterator, "iterator", error)
        return result

    def not_constructed(self, token: Construction, iterator: Any, loader: Any) -> None:
        planned.plan = token[1]

    def attach(self, iterator: Any, loader: Any) -> Session | None:
        """Give the iterator a session, if its loader is recorded."""
        session = self._open_session(loader)
        if session is not None:
            iterator.__dict__[KEY] = session
            self.recorded.add(iterator)
        return session

    def adopt(self, iterator: Any, loader: Any) -> None:
        """Record an iterator that was there before its loader was watched."""
        session = self.attach(iterator, loader)
        if session is not None:
            session.adopt(iterator)
            if not self.sees_arrivals:
                session.qsize = None

    def forget(self) -> None:
        """Iterators that live are recorded no more."""
        for iterator in list(self.recorded):
            iterator.__dict__.pop(KEY, None)
            for part in (getattr(iterator, name, None) for name in ("_worker_result_queue", "_dataset_fetcher")):
                getattr(part, "__dict__", {}).pop(PINNING, None)

    # _reset, which a persistent iterator's loader calls at each new epoch

    def resetting(self, iterator: Any) -> Session | None:
        session: Session | None = iterator.__dict__.get(KEY)
        if session is None or not session.is_constructed:
            return None
        session.resetting()
        return session

    def reset(self, session: Session, iterator: Any, result: Result) -> Result:
        try:
            session.reset()
        except Exception as error:
            stop_recording(iterator, "reset", error)
        return result

    def not_reset(self, session: Session, iterator: Any) -> None:
        session.is_constructed = True

    # _next_index: a map-style loader's sampler

    def drawing(self, iterator: Any) -> int | None:
        return self._now() if KEY in iterator.__dict__ else None

    def drawn(self, started_ns: int, iterator: Any, result: Result) -> Result:
        session: Session | None = iterator.__dict__.get(KEY)
        if session is not None:
            session.drawn_ns += self._now() - started_ns
        return result

    def not_drawn(self, started_ns: int, iterator: Any) -> None:
        self.drawn(started_ns, iterator, None)

    # _get_data: when which batch came. Mostly the awaited one, whose time goes into its step

    def receiving(self, iterator: Any) -> Session | None:
        session: Session | None = iterator.__dict__.get(KEY)
        return session if session is not None and session.is_constructed else None

    def received(self, session: Session, iterator: Any, result: Any) -> Any:
        received_ns = self._now()
        try:
            index, batch = result
            if index == iterator._rcvd_idx or not session.in_order:
                session.received_ns = received_ns
                session.batch_index = index
            else:
                session.ring.write(ring_format.head(ring_format.ARRIVAL, session.epoch), index, received_ns)
            if session.is_map or not is_no_batch(batch):
                session.arrived += 1
        except Exception as error:
            stop_recording(iterator, "arrival", error)
        return result

    # The copy into page-locked memory: in a thread beside workers, in next() without

    def pinning(self, queue: Any, batch_index: int) -> tuple[Session, int, int] | None:
        session: Session | None = queue.__dict__.get(PINNING)
        return (session, batch_index, self._now()) if session is not None and session.is_constructed else None

    def pinning_here(self, iterator: Any) -> tuple[Session, int, int] | None:
        session: Session | None = iterator.__dict__.get(KEY)
        return (session, iterator._num_yielded, self._now()) if session is not None else None

    def pinned(self, token: tuple[Session, int, int] | None, batch: Result) -> Result:
        if token is not None:
            session, batch_index, started_ns = token
            try:
                session.pinned(batch_index, started_ns)
            except Exception as error:
                session.loader.guard.failed("pin", error)
        return batch

    # __next__. Written out: every call here would cost more than a clock read

    def instead(self, iterator: Any) -> Any:
        """Only put in for ``--replay``."""
        return self._replay.instead(iterator) if self._replay is not None else None

    def entered(self, iterator: Any) -> OpenRequest | None:
        session: Session | None = iterator.__dict__.get(KEY)
        if session is None:
            return None
        depth = 0
        try:
            if session.is_inspected:
                if not session.is_constructed:
                    return (
                        None  # torchdata asks for batches within the construction, to skip those that were seen before
                    )
                # Read here, and not in a method of the session: what runs in few steps only is slow when it does.
                session.began_ns = self._now()
                if session.began_ns >= session.due_ns:
                    session.begin_probing()
            if session.qsize is not None:
                depth = session.qsize() + session.arrived - iterator._num_yielded + 1
                depth = 0 if depth < 0 else DEEPEST if depth > DEEPEST else depth
            if session.device is not None:
                # The queue was empty, or there is none and the last batch took its time.
                must = depth == 1 or (depth == 0 and session.has_waited)
                if session.device.entered(session.loader.steps, must):
                    depth |= TIMED
        except Exception as error:
            stop_recording(iterator, "request", error)
            return None
        return session, self._now(), depth

    def left(self, token: OpenRequest, iterator: Any, batch: Result) -> Result:
        left_ns = self._now()
        session, entered_ns, depth = token
        try:
            loader = session.loader
            step = loader.steps
            if session.device is not None:
                session.has_waited = left_ns - entered_ns > LONG_WAIT_NS
                if depth & TIMED and not session.device.left():
                    depth ^= TIMED
            if session.probe is not None:
                index = iterator._num_yielded - 1
            else:
                index = iterator._rcvd_idx - 1 if session.in_order else session.batch_index
            if session.is_passive:
                if session.received_ns >= entered_ns:
                    session.ring.write(ring_format.head(ring_format.ARRIVAL, session.epoch), index, session.received_ns)
            else:
                loader.steps = step + 1
                number = session.next_number()
                session.pack(
                    session.memory,
                    HEADER_BYTES + ((number & session.mask) << RECORD_SHIFT),
                    session.step_head,
                    entered_ns,
                    left_ns,
                    depth | session.drawn_ns << DRAWN_SHIFT,
                    index,
                    step,
                    session.received_ns,
                    number,
                )
                session.drawn_ns = 0
                if session.device is not None:
                    session.device.poll()
            if session.is_inspected:
                session.end_inspection(batch, index, entered_ns, left_ns, self._now())
            elif not (step + 1) % SAMPLED_OVERHEAD or left_ns >= session.due_ns:
                session.is_inspected = True
            if self._replay is not None:
                self._replay.loaded(iterator, batch)
        except Exception as error:
            stop_recording(iterator, "step", error)
        return batch

    def stopped(self, token: OpenRequest, iterator: Any) -> None:
        left_ns = self._now()
        session, entered_ns, _ = token
        try:
            session.stopped(iterator, isinstance(sys.exc_info()[1], StopIteration), entered_ns, left_ns)
        except Exception as error:
            stop_recording(iterator, "end of epoch", error)


def stop_recording(iterator: Any, where: str, error: Exception) -> None:
    """This iterator is recorded no more; the training goes on."""
    session: Session | None = iterator.__dict__.pop(KEY, None)
    if session is not None:
        session.loader.guard.failed(where, error)
