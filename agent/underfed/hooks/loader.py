"""The wrappers around torch's iterator methods: two clock reads and one record a step, and only for watched loaders.

Each passes on what it was called with and what comes back. The user's code (data set, sampler, collate) runs
inside ``original``, outside any ``except`` of ours but the one that notes an error and raises it again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from underfed import record
from underfed.clock import Clock, now_ns
from underfed.hooks.session import SAMPLED_OVERHEAD, Session
from underfed.hooks.worker import NO_BATCHES, planned
from underfed.record import NOT_MEASURED
from underfed.ring import HEADER_BYTES, RECORD_SHIFT

KEY = "_underfed"
"""The session's place in the iterator's ``__dict__``: one dictionary look-up, and it goes with the iterator."""

Method = Callable[..., Any]
OpenSession = Callable[[Any, Any], "Session | None"]
"""Called with an iterator under construction and its loader."""


def give_up(iterator: Any, where: str, error: Exception) -> None:
    """This iterator is recorded no more; the training goes on."""
    session: Session | None = iterator.__dict__.pop(KEY, None)
    if session is not None:
        session.loader.guard.failed(where, error)


def wrap_init(original: Method, open_session: OpenSession) -> Method:
    """Around an iterator class's ``__init__``: the time from here to its end is start-up."""

    def watched_init(self: Any, loader: Any, *arguments: Any, **named: Any) -> None:
        session = open_session(self, loader)
        started_ns = now_ns()
        # A sampler may itself begin to draw from another loader: its workers are not ours.
        before, planned.plan = planned.plan, session.loader.plan(session) if session is not None else None
        try:
            original(self, loader, *arguments, **named)
        finally:
            planned.plan = before
        if session is None:
            return
        try:
            session.constructed(self, started_ns)
        except Exception as error:
            give_up(self, "iterator", error)

    return watched_init


def wrap_reset(original: Method) -> Method:
    """Around ``_reset``, which a persistent iterator's loader calls at each new epoch."""

    def watched_reset(self: Any, *arguments: Any, **named: Any) -> None:
        session: Session | None = self.__dict__.get(KEY)
        if session is None or not session.is_constructed:
            original(self, *arguments, **named)
            return
        try:
            session.reset()
        except Exception as error:
            give_up(self, "reset", error)
        # What comes while it resets belongs to the epoch before and is thrown away by torch.
        session = self.__dict__.pop(KEY, None)
        original(self, *arguments, **named)
        if session is not None:
            self.__dict__[KEY] = session

    return watched_reset


def wrap_get_data(original: Method, now: Clock = now_ns) -> Method:
    """Around ``_get_data``: when which batch came. Mostly the awaited one, whose time goes into its step."""

    def watched_get_data(self: Any) -> Any:
        result = original(self)
        session: Session | None = self.__dict__.get(KEY)
        if session is not None:
            received_ns = now()
            try:
                index = result[0]
                if index == self._rcvd_idx or not session.in_order:
                    session.received_ns = received_ns
                    session.batch_index = index
                else:
                    session.ring.write(record.head(record.ARRIVAL, session.epoch), index, received_ns)
                if session.is_map or type(result[1]).__name__ not in NO_BATCHES:
                    session.arrived += 1
            except Exception as error:
                give_up(self, "arrival", error)
        return result

    return watched_get_data


def wrap_next(original: Method, now: Clock = now_ns) -> Method:
    """Around ``__next__``. Written out in one piece: every call here would cost more than a clock read."""

    def watched_next(self: Any) -> Any:
        session: Session | None = self.__dict__.get(KEY)
        if session is None:
            return original(self)
        depth = NOT_MEASURED
        try:
            if session.is_watchful:
                session.begin_watch()
            if session.qsize is not None:
                depth = session.qsize() + session.arrived - self._num_yielded
        except Exception as error:
            give_up(self, "request", error)
        entered_ns = now()
        try:
            batch = original(self)
        except BaseException as error:
            note_stop(self, error, entered_ns, now())
            raise
        left_ns = now()
        try:
            loader = session.loader
            step = loader.steps
            loader.steps = step + 1
            if session.probe is not None:
                index = self._num_yielded - 1
            else:
                index = self._rcvd_idx - 1 if session.in_order else session.batch_index
            number = session.next_number()
            session.pack(
                session.memory,
                HEADER_BYTES + ((number & session.mask) << RECORD_SHIFT),
                session.step_head,
                entered_ns,
                left_ns,
                depth,
                index,
                step,
                session.received_ns,
                number,
            )
            if session.is_watchful:
                session.end_watch(batch, index, entered_ns, left_ns)
            elif not (step + 1) % SAMPLED_OVERHEAD or left_ns >= session.due_ns:
                session.is_watchful = True
        except Exception as error:
            give_up(self, "step", error)
        return batch

    return watched_next


def note_stop(iterator: Any, error: BaseException, entered_ns: int, left_ns: int) -> None:
    session: Session | None = iterator.__dict__.get(KEY)
    try:
        if session is not None:
            session.stopped(iterator, error, entered_ns, left_ns)
    except Exception as failure:
        give_up(iterator, "end of epoch", failure)
