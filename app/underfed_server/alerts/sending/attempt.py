"""One attempt to send a message: how long it may take, and how it fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from underfed_server.errors import UnderfedError

DEADLINE_S = 10.0
"""For everything after the name is resolved: connecting, TLS, sending, and the answer."""


class AttemptError(UnderfedError):
    """The message did not arrive, or it is not known whether it did. The message is shown: it holds no secret, and
    nothing that the receiver wrote.
    """

    def __init__(self, why: str, *, is_final: bool = False, wait: timedelta | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.is_final = is_final
        """It would fail again."""
        self.wait = wait
        """The receiver asked for."""


@contextmanager
def deadline(seconds: float, cut: Callable[[], None]) -> Iterator[None]:
    """``cut`` ends the connection from another thread: a receiver that sends a byte now and then meets every timeout of
    a socket.
    """
    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
