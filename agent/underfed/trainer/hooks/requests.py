"""What runs where torch's ``next()`` begins and ends: two clock reads and one record a step, for watched loaders only.

The statements of ``entered`` and ``left`` stand in torch's function: a call would cost more than a clock read.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from underfed.exchange.ring import HEADER_BYTES, RECORD_SHIFT
from underfed.exchange.ring_format import DEEPEST, SAMPLER_SHIFT, TIMED
from underfed.host.clock import Clock, now_ns
from underfed.trainer.hooks.session import LONG_WAIT_NS, SAMPLED_OVERHEAD, Session, stop_recording

if TYPE_CHECKING:
    from underfed.trainer.replay import Replay


@dataclass(slots=True, eq=False)
class Requests:
    """The object whose methods are spliced into ``__next__``. None raises, except at the end of a replay."""

    replay: Replay | None
    now: Clock = now_ns

    def instead(self, iterator: Any) -> Any:
        """Spliced in for ``--replay`` alone."""
        return self.replay.instead(iterator) if self.replay is not None else None

    def entered(self, iterator: Any) -> Session | None:
        try:
            session: Session | None = iterator._underfed
            if session is not None and session.is_inspected:
                # Read here, and not in the method: what runs in few steps only is slow when it does.
                session.began_ns = self.now()
                if not session.begin_inspection():
                    session = None
            if session is not None:
                depth = 0
                if session.qsize is not None:
                    depth = session.qsize(iterator) + session.arrived - iterator._num_yielded + 1
                    depth = 0 if depth < 0 else DEEPEST if depth > DEEPEST else depth
                if session.device is not None:
                    # The queue was empty, or there is none and the last batch took its time.
                    must = depth == 1 or (depth == 0 and session.has_waited)
                    if session.device.entered(session.loader.steps, must):
                        depth |= TIMED
                session.depth = depth
                session.entered_ns = self.now()
        except Exception as error:
            self.failed(iterator, "request", error)
            session = None
        return session

    def left(self, session: Session, iterator: Any, batch: Any) -> None:
        left_ns = self.now()
        try:
            loader = session.loader
            step = loader.steps
            if session.device is not None:
                session.has_waited = left_ns - session.entered_ns > LONG_WAIT_NS
                if session.depth & TIMED and not session.device.left():
                    session.depth ^= TIMED
            if session.probe is not None:
                index = iterator._num_yielded - 1
            elif session.in_order:
                index = iterator._rcvd_idx - 1
            else:
                index = session.batch_index
            if session.is_passive:
                session.passed_on(index)
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
                session.sampler_ns = session.sampler.usual_ns
                if session.device is not None:
                    session.device.poll()
            if session.is_inspected:
                session.end_inspection(batch, index, session.entered_ns, left_ns, self.now())
            elif left_ns >= session.due_ns:
                session.is_inspected = True
            elif step >= session.look_step:
                session.look_step = step + SAMPLED_OVERHEAD
                session.is_inspected = left_ns >= session.look_ns
            if self.replay is not None:
                self.replay.loaded(iterator, batch)
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
