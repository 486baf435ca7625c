"""A post of a window that came as agents send it. It is answered without what ASGI would make for it: a task, messages,
a way through the application. Own study: 70 to 85 of 450 to 520 µs of CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from underfed_server.ingest.asgi import Scope
from underfed_server.ingest.endpoint import Head

TARGET = b"/api/v1/ingest"
MOST_BYTES = 2**16
"""Twenty usual windows; of what is larger uvicorn pauses reading."""

Answer = Callable[[int, bytes, Iterable[tuple[str, str]]], None]
"""Sends status, body and headers."""


class UsualPost:
    """The request under way, as uvicorn sees it."""

    __slots__ = (
        "answer", "asked", "begun", "body", "disconnected", "head", "keep_alive", "length", "message_event",
        "more_body", "response_complete", "response_started", "scope",
    )  # fmt: skip

    def __init__(self, scope: Scope, head: Head, length: int, asked: str, begun: float) -> None:
        """``length``: of the body, by its header. ``asked``: the request's id. ``begun``: when its headers had come, by
        the performance counter.
        """
        self.scope = scope
        self.head = head
        self.length = length
        self.asked = asked
        self.begun = begun
        self.answer: Answer
        """The connection's; of one that is gone it does nothing."""
        self.body = bytearray()
        self.more_body = True
        self.keep_alive = True
        self.disconnected = False
        self.response_started = False
        self.response_complete = False
        self.message_event = NOBODY_WAITS


class _NobodyWaits:
    def set(self) -> None:
        """What uvicorn wakes is a task; here there is none."""


NOBODY_WAITS = _NobodyWaits()


class UsualPosts(Protocol):
    """What is done with them. On one event loop."""

    def begin(self, scope: Scope, length: int) -> UsualPost | None:
        """Its headers have come. ``None``: nothing was done, and ASGI's way finds what is unusual about it."""

    def take(self, post: UsualPost) -> None:
        """Its body has come: it is answered once the window is on disk, or was refused."""

    def drop(self, post: UsualPost) -> None:
        """The rest of its body does not come."""
