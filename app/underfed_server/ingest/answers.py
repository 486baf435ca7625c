"""Brings outcomes from the writer's thread to the event loop, a whole group at once: each call from another thread
wakes the loop by a system call, and has it wait for the interpreter beside the writer.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from underfed_server.ingest.posted import Outcome

log = logging.getLogger("underfed.ingest")

WhenDone = Callable[[Future[Outcome]], None]


class Answers:
    """Of one event loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._arrived: deque[tuple[WhenDone, Future[Outcome]]] = deque()

    def deliver(self, posted: Future[Outcome], when_done: WhenDone) -> None:
        """On the loop: ``when_done`` is called there with ``posted`` once it is done."""
        self._loop = asyncio.get_running_loop()
        posted.add_done_callback(partial(self._arrive, when_done))
        if posted.done():
            # Perhaps before there was a callback: then nobody else brings it.
            self._bring()

    async def of(self, posted: Future[Outcome]) -> Outcome:
        """Who does not wait any more takes the window back, unless it is being written.

        Raises:
            Exception: as ``posted`` has it.
        """
        awaited: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.deliver(posted, partial(_settle, awaited))
        try:
            return await awaited
        except asyncio.CancelledError:
            posted.cancel()
            raise

    def wake(self) -> None:
        """On the writer's thread, after all of a group have their outcome."""
        if self._arrived and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._bring)

    def _arrive(self, when_done: WhenDone, posted: Future[Outcome]) -> None:
        self._arrived.append((when_done, posted))

    def _bring(self) -> None:
        while self._arrived:
            when_done, posted = self._arrived.popleft()
            try:
                when_done(posted)
            except Exception:
                # The others wait for theirs.
                log.exception("an answer could not be given")


def _settle(awaited: asyncio.Future[Outcome], posted: Future[Outcome]) -> None:
    if awaited.done():
        return
    try:
        awaited.set_result(posted.result())
    except Exception as error:
        awaited.set_exception(error)
