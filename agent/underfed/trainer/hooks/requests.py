"""What runs where torch's ``next()`` begins and ends: two clock reads and one record a step, for watched loaders only.

The statements of ``entered`` and ``left`` stand in torch's function. They are few, and what few steps need is behind a
call: between two steps the processor's caches lose all of it, and to fetch it again is most of what it costs. What is
called of a session has a variable first: a method is looked for where ``session.pack(…)`` stands, each time anew.

Where caches are cold, ``pack`` is half of what is left: 2 of 4 µs after a small model's step, 5 of 10 beside workers.
Eight stores into a ``memoryview`` take as long. A list of records that are packed together would save most of it, and
lose them where the process is killed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from underfed.exchange.ring import HEADER_BYTES, RECORD_BYTES
from underfed.exchange.ring_format import SAMPLER_SHIFT
from underfed.host.clock import Clock, now_ns
from underfed.trainer.hooks.session import STEP_MASK, Session, stop_recording

if TYPE_CHECKING:
    from underfed.trainer.replay import Replay
    from underfed.trainer.tuning.tuner import Tuner


@dataclass(slots=True, eq=False)
class Requests:
    """The object whose methods are spliced into ``__next__``. None raises, except at the end of a replay or of trials,
    and what another iterator raises that loads for this one."""

    replay: Replay | None
    tuner: Tuner | None = None
    now: Clock = now_ns

    def entered(self, iterator: Any) -> Session | None:
        try:
            session: Session | None = iterator._underfed
            if session is not None:
                if session.is_plain:
                    if session.counts_queue:
                        free_places = session.free_places
                        waiting = session.most_waiting - free_places() + session.arrived - iterator._num_yielded
                        session.request = (waiting if waiting > 0 else 0) + session.usual_request
                    session.entered_ns = self.now()
                elif session.begin_request(iterator, self.now()):
                    session.entered_ns = self.now()
                else:
                    session = None
        except Exception as error:
            self.failed(iterator, "request", error)
            session = None
        return session

    def left(self, session: Session, iterator: Any, batch: Any) -> None:
        left_ns = self.now()
        try:
            if session.is_apart:
                session.left_apart(iterator, left_ns)
            else:
                loader = session.loader
                step = loader.steps
                loader.steps = step + 1
                next_number = session.next_number
                pack = session.pack
                number = next_number()
                request = session.request
                if session.times_sampler:
                    request += session.sampler_ns << SAMPLER_SHIFT
                    session.sampler_ns = 0
                pack(
                    session.memory,
                    HEADER_BYTES + (number & STEP_MASK) * RECORD_BYTES,
                    session.step_head,
                    session.entered_ns,
                    left_ns,
                    request,
                    (iterator._rcvd_idx if session.has_workers else iterator._num_yielded) - 1,
                    step,
                    session.received_ns,
                    number,
                )
            if left_ns >= session.next_look_ns:
                session.look(iterator, batch, left_ns, self.now())
        except Exception as error:
            self.failed(iterator, "step", error)

    def stopped(self, session: Session, iterator: Any) -> None:
        left_ns = self.now()
        try:
            session.stopped(iterator, isinstance(sys.exc_info()[1], StopIteration), session.entered_ns, left_ns)
        except Exception as error:
            stop_recording(iterator, "end of epoch", error)

    def failed(self, iterator: Any, where: str, error: Exception) -> None:
        stop_recording(iterator, where, error)

    # With ``--replay`` alone, where both stand in torch's function as calls

    def instead(self, iterator: Any) -> Any:
        return self.replay.instead(iterator) if self.replay is not None else None

    def left_in_replay(self, session: Session, iterator: Any, batch: Any) -> None:
        self.left(session, iterator, batch)
        try:
            if self.replay is not None:
                self.replay.loaded(iterator, batch)
        except Exception as error:
            stop_recording(iterator, "replay", error)

    # With ``--tune`` alone, where both stand in torch's function as calls

    def instead_in_tuning(self, iterator: Any) -> Any:
        return self.tuner.instead(iterator) if self.tuner is not None else None

    def left_in_tuning(self, session: Session, iterator: Any, batch: Any) -> None:
        """What a signal handler raises in here loses no batch: the next request gets it."""
        if self.tuner is not None:
            self.tuner.hold(iterator, batch)
        self.left(session, iterator, batch)
        if self.tuner is not None:
            try:
                self.tuner.left(iterator, batch)
            except Exception as error:
                stop_recording(iterator, "tune", error)
            self.tuner.let_go(iterator)

    def stopped_in_tuning(self, session: Session, iterator: Any) -> None:
        self.stopped(session, iterator)
        if self.tuner is not None:
            self.tuner.stopped(iterator)
