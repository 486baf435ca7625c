"""Who asks for much waits for itself: of each caller only so many answers are made at one time.

Making them takes a thread of those that answer all requests, and memory until they are sent.
"""

from __future__ import annotations

from asyncio import Semaphore

from underfed_server.ingest.asgi import Message, Send

MOST_AT_ONCE = 8
"""A browser asks for six at one time."""


class Turns:
    """On one event loop."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[Semaphore, int]] = {}
        """By caller, with how many have or want a turn."""

    async def next(self, caller: str) -> Turn:
        """Waits until those that came before have been made."""
        turns, wanted = self._of.get(caller, (Semaphore(MOST_AT_ONCE), 0))
        self._of[caller] = turns, wanted + 1
        try:
            await turns.acquire()
        except BaseException:
            self._forget(caller)
            raise
        return Turn(self, caller)

    def end(self, caller: str) -> None:
        self._of[caller][0].release()
        self._forget(caller)

    def _forget(self, caller: str) -> None:
        turns, wanted = self._of.pop(caller)
        if wanted > 1:
            self._of[caller] = turns, wanted - 1


class Turn:
    """Of one request."""

    def __init__(self, turns: Turns, caller: str) -> None:
        self._turns = turns
        self._caller: str | None = caller

    def until_answered(self, send: Send) -> Send:
        """``send`` that ends the turn when the answer begins: it is made, or a stream that is made while it is sent."""

        async def sending(message: Message) -> None:
            self.end()
            await send(message)

        return sending

    def end(self) -> None:
        """Once more is not too often."""
        if self._caller is not None:
            caller, self._caller = self._caller, None
            self._turns.end(caller)
