"""What runs where torch's ``next()`` begins and ends: two clock reads and one record a step, for watched loaders only.

The statements of ``entered`` and ``left`` stand in torch's function. They are few, and what few steps need is behind a
call: between two steps the processor's caches lose all of it, and to fetch it again is most of what it costs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from underfed.exchange.ring import HEADER_BYTES, RECORD_SHIFT
from underfed.exchange.ring_format import SAMPLER_SHIFT
from underfed.host.clock import Clock, now_ns
from underfed.trainer.hooks.session import Session, stop_recording

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
                if session.is_inspected and not session.begin_inspection(self.now()):
                    session = None
                else:
                    if session.asks_more:
                        session.depth = session.ask(iterator)
                    session.entered_ns = self.now()
        except Exception as error:
            self.failed(iterator, "request", error)
            session = None
        return session

    def left(self, session: Session, iterator: Any, batch: Any) -> None:
        left_ns = self.now()
        try:
            if session.probe is not None:
                index = iterator._num_yielded - 1
            elif session.in_order:
                index = iterator._rcvd_idx - 1
            else:
                index = session.batch_index
            loader = session.loader
            step = loader.steps
            if session.is_apart:
                session.left_apart(index, left_ns)
            else:
                loader.steps = step + 1
                number = session.next_number()
                session.pack(
                    session.memory,
                    HEADER_BYTES + ((number & session.mask) << RECORD_SHIFT),
                    session.step_head,
                    session.entered_ns,
                    left_ns,
                    session.depth | session.sampler_ns << SAMPLER_SHIFT,
                    index,
                    step,
                    session.received_ns,
                    number,
                )
                session.sampler_ns = session.usual_sampler_ns
            if session.is_inspected:
                session.end_inspection(batch, index, session.entered_ns, left_ns, self.now())
            elif left_ns >= session.due_ns or step >= session.look_step:
                session.is_inspected = session.is_due(step, left_ns)
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
