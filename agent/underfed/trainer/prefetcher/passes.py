"""One pass over a loader: the requested batch, and the next one being copied while the first is used."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from underfed.host.signal_handlers import let_through
from underfed.trainer.prefetcher.copy_stream import CopyStream, Streams, Transfer, Transform, return_stream, take_stream
from underfed.trainer.prefetcher.prefetched_steps import PrefetchedSteps


class Pass:
    """Gives the loader's batches in its order, and its exceptions where they belong. Used by one thread.

    A batch is fetched ahead of its request only where the loader is known not to block, or nothing is known of it.
    """

    def __init__(self, iterator: Iterator[Any], streams: Streams, transform: Transform | None) -> None:
        self._iterator = iterator
        self._transform = transform
        self._is_ready = readiness(iterator)
        self._fetched: deque[Transfer | Exception] = deque()
        """At most two: the requested batch and the one after it."""
        self._steps = PrefetchedSteps(iterator)
        self._copies: CopyStream | None = take_stream(streams)

    def __iter__(self) -> Pass:
        return self

    def __next__(self) -> Any:
        copies = self._copies
        if copies is None:
            raise StopIteration
        self._steps.entered(bool(self._fetched), may_block=not self._fetched or self._is_ready is None)
        try:
            transfer = self._first(copies)
            batch = copies.deliver(transfer, self._transform is not None, self._steps.report())
        except BaseException as error:
            self._steps.stopped(error)
            raise
        self._fetched.popleft()
        self._steps.left(transfer.number)
        return batch

    def close(self) -> None:
        """Release the loader's iterator and the batches fetched ahead; ``next()`` then raises ``StopIteration``."""
        copies, self._copies = self._copies, None
        if copies is None:
            return
        for fetched in self._fetched:
            if isinstance(fetched, Transfer):
                copies.drop(fetched)
        self._fetched.clear()
        self._steps.close()
        self._iterator = iter(())
        self._is_ready = None
        try:
            copies.settle()
        except Exception as error:
            let_through(error)
            return  # the device has failed: its stream is not reused
        return_stream(copies)

    def __del__(self) -> None:
        if getattr(self, "_copies", None) is not None:
            self.close()

    def _first(self, copies: CopyStream) -> Transfer:
        """The requested batch, with the next one fetched too where that takes no waiting.

        It stays in ``_fetched``, so that a Ctrl-C while the next one is fetched does not lose it.
        """
        copies.settle()
        if not self._fetched:
            self._fetched.append(self._fetch(copies))
        first = self._fetched[0]
        if isinstance(first, Exception):
            self._fetched.popleft()
            try:
                raise first
            finally:
                del first  # or the error would hold this frame, and the frame the error
        if len(self._fetched) == 1 and (self._is_ready is None or self._is_ready()):
            self._fetched.append(self._fetch_ahead(copies))
        return first

    def _fetch(self, copies: CopyStream) -> Transfer:
        batch = next(self._iterator)
        number = self._steps.fetched()
        transfer = copies.send(batch, self._transform)
        transfer.number = number
        return transfer

    def _fetch_ahead(self, copies: CopyStream) -> Transfer | Exception:
        try:
            return self._fetch(copies)
        except Exception as error:
            let_through(error)
            return error.with_traceback(without_ours(error.__traceback__))  # raised when its batch is asked for


def without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """Frames of this file would keep the pass alive together with the error that it holds."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback


def readiness(iterator: Any) -> Callable[[], bool] | None:
    """A function that returns whether ``next(iterator)`` would return a batch at once; ``None``: that cannot be known.

    With workers, a batch that came early, or one in the queue: most likely the next. Without, it is loaded when asked
    for, so fetching ahead would only delay the batch that is there, and use random numbers in another order.
    """
    if not hasattr(iterator, "_num_workers"):
        return None
    if not hasattr(iterator, "_data_queue"):
        return lambda: False
    return lambda: len(iterator._task_info.get(iterator._rcvd_idx, ())) == 2 or iterator._data_queue.qsize() > 0
