"""What runs where torch's ``next()`` begins and ends: two clock reads and one record a step, for watched loaders only.

Inlined: every further call here would cost more than a clock read.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from underfed.exchange import ring_format
from underfed.exchange.ring import HEADER_BYTES, RECORD_SHIFT
from underfed.exchange.ring_format import DEEPEST, SAMPLER_SHIFT, TIMED
from underfed.host.clock import now_ns
from underfed.trainer.hooks.session import KEY, LONG_WAIT_NS, SAMPLED_OVERHEAD, Session, stop_recording

if TYPE_CHECKING:
    from underfed.trainer.replay import Replay

Result = TypeVar("Result")
OpenRequest = tuple[Session, int, int]
"""Its session, its time, and queue depth + 1, with ``TIMED`` where the device is timed."""


@dataclass(slots=True, eq=False)
class Requests:
    """The object whose methods are spliced into ``__next__``. None raises, except at the end of a replay."""

    replay: Replay | None

    def instead(self, iterator: Any) -> Any:
        """Spliced in for ``--replay`` alone."""
        return self.replay.instead(iterator) if self.replay is not None else None

    def entered(self, iterator: Any) -> OpenRequest | None:
        session: Session | None = iterator.__dict__.get(KEY)
        if session is None:
            return None
        depth = 0
        try:
            if session.is_inspected:
                if not session.is_constructed:
                    # During construction torchdata requests batches, to skip those before its checkpoint.
                    return None
                # Read here, and not in a method of the session: what runs in few steps only is slow when it does.
                session.began_ns = now_ns()
                session.look_for_graph()
                if session.began_ns >= session.due_ns:
                    session.begin_probing()
            if session.qsize is not None:
                depth = session.qsize(iterator) + session.arrived - iterator._num_yielded + 1
                depth = 0 if depth < 0 else DEEPEST if depth > DEEPEST else depth
            if session.device is not None:
                # The queue was empty, or there is none and the last batch took its time.
                must = depth == 1 or (depth == 0 and session.has_waited)
                if session.device.entered(session.loader.steps, must):
                    depth |= TIMED
        except Exception as error:
            stop_recording(iterator, "request", error)
            return None
        return session, now_ns(), depth

    def left(self, token: OpenRequest, iterator: Any, batch: Result) -> Result:
        left_ns = now_ns()
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
                    depth | session.sampler_ns << SAMPLER_SHIFT,
                    index,
                    step,
                    session.received_ns,
                    number,
                )
                session.sampler_ns = 0
                if session.device is not None:
                    session.device.poll()
            if session.is_inspected:
                session.end_inspection(batch, index, entered_ns, left_ns, now_ns())
            elif not (step + 1) % SAMPLED_OVERHEAD or left_ns >= session.due_ns:
                session.is_inspected = True
            if self.replay is not None:
                self.replay.loaded(iterator, batch)
        except Exception as error:
            stop_recording(iterator, "step", error)
        return batch

    def stopped(self, token: OpenRequest, iterator: Any) -> None:
        left_ns = now_ns()
        session, entered_ns, _ = token
        try:
            session.stopped(iterator, isinstance(sys.exc_info()[1], StopIteration), entered_ns, left_ns)
        except Exception as error:
            stop_recording(iterator, "end of epoch", error)
