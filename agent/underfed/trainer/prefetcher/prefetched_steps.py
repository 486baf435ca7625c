"""Records the steps of a prefetched loader: they begin with its consumer's requests, not with ours.

The loader's own iterator still records when each batch came and how it was loaded.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from underfed.exchange import ring_format
from underfed.exchange.ring_format import NOT_MEASURED
from underfed.host.clock import now_ns
from underfed.host.signal_handlers import let_through
from underfed.trainer.attached import attached
from underfed.trainer.hooks.iterable import WatchedIterator
from underfed.trainer.hooks.session import KEY, Session
from underfed.trainer.prefetcher.copy_stream import Report


def take_over(iterator: Any) -> Session | None:
    """The session of a watched iterator, which records no step itself from now on; ``None``: it is not watched."""
    if isinstance(iterator, WatchedIterator):
        session, iterator._session = iterator._session, None
    else:
        session = attached(iterator, KEY)
    if session is not None:
        session.loader.is_prefetched = True
    return session


class PrefetchedSteps:
    """Steps of one pass. Does nothing where the loader is not watched, and raises nothing."""

    def __init__(self, iterator: Any) -> None:
        self._iterator: Any = iterator
        self._session = take_over(iterator)
        self._device = None
        if self._session is not None:
            self._device = self._session.device
            self._session.time_device(None, is_passive=True)
        self._fetched = 0
        self._depth = NOT_MEASURED
        self._is_timed = False
        self._entered_ns = 0

    def entered(self, holds: bool, may_block: bool) -> None:
        """The consumer requests a batch. ``holds``: one is fetched already. ``may_block``: the request may wait."""
        if self._session is None:
            return
        try:
            self._depth = depth = self._queue_depth(self._session)
            if depth != NOT_MEASURED and holds:
                self._depth = max(1, depth)
            must = may_block and depth <= 0
            self._is_timed = self._device is not None and self._device.entered(self._session.loader.steps, must)
        except Exception as error:
            self._stop_recording("prefetched request", error)
        self._entered_ns = now_ns()

    def fetched(self) -> int:
        """A batch has come from the loader. Returns its number there."""
        number = self._fetched
        self._fetched += 1
        session, iterator = self._session, self._iterator
        if session is not None and hasattr(iterator, "_rcvd_idx"):
            return int(iterator._rcvd_idx - 1 if session.in_order else session.batch_index)
        return number

    def left(self, number: int) -> None:
        """The consumer has its batch."""
        left_ns = now_ns()
        session = self._session
        if session is None:
            return
        try:
            session.handed_out(number, self._entered_ns, left_ns, self._depth, self._device, self._is_timed)
        except Exception as error:
            self._stop_recording("prefetched step", error)

    def stopped(self, error: BaseException) -> None:
        """The request raised: the epoch is over, or something failed."""
        left_ns = now_ns()
        if self._session is None:
            return
        try:
            self._session.ended(isinstance(error, StopIteration), self._entered_ns, left_ns)
        except Exception as failure:
            self._stop_recording("end of prefetched epoch", failure)

    def report(self) -> Report | None:
        """The function to call with the copy times of the batch that this request gets."""
        session = self._session
        if session is None:
            return None
        head, step = ring_format.head(ring_format.COPY, session.epoch), session.loader.steps
        return partial(session.ring.write, head, step)

    def close(self) -> None:
        """Let the iterator record its own steps again, in case it is iterated further."""
        session, self._session = self._session, None
        iterator, self._iterator = self._iterator, None
        if session is None:
            return
        session.time_device(self._device)
        if isinstance(iterator, WatchedIterator):
            iterator._session = session

    def _queue_depth(self, session: Session) -> int:
        if session.qsize is None:
            return NOT_MEASURED
        given: int = self._iterator._num_yielded
        return max(0, session.qsize(self._iterator) + session.arrived - given)

    def _stop_recording(self, where: str, error: Exception) -> None:
        let_through(error)
        session, self._session = self._session, None
        if session is not None:
            session.loader.guard.failed(where, error)
