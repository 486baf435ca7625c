"""One attempt to send a message: how long it may take, and how it fails."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from underfed_server.errors import UnderfedError

DEADLINE_S = 10.0
"""For everything after the name is resolved: connecting, TLS, sending, and the answer."""


class AttemptError(UnderfedError):
    """The message did not arrive, or it is not known whether it did. The message is shown: it holds no secret, and
    nothing that the receiver wrote.
    """

    def __init__(self, why: str, *, is_final: bool = False, wait: timedelta | None = None) -> None:
        super().__init__(why)
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


def reached(addresses: Sequence[tuple[int, Any]]) -> socket.socket:
    """Connected to the first that answers of these, each with its family: they share the time. No name is resolved.

    Raises:
        OSError: none answers.
    """
    for index, (family, address) in enumerate(addresses):
        line = socket.socket(family, socket.SOCK_STREAM)
        try:
            line.settimeout(DEADLINE_S / len(addresses))
            line.connect(address)
        except OSError:
            line.close()
            if index == len(addresses) - 1:
                raise
        else:
            return line
    raise OSError
