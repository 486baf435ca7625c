"""A post of a window that came as agents send it. It is answered without what ASGI would make for it: a task, messages,
a way through the application. Own study: 70 to 85 of 450 to 520 µs of CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from underfed_server.errors import RequestError
from underfed_server.ingest.asgi import Scope
from underfed_server.ingest.endpoint import Head

MOST_USUAL_BYTES = 2**16
"""Twenty usual windows; of what is larger uvicorn pauses reading."""

Answer = Callable[[int, bytes, Iterable[tuple[str, str]]], bool]
"""Sends status, body and headers. ``False``: nobody receives them any more."""


class UsualPost:
    """The request under way, as uvicorn sees it."""

    __slots__ = (
        "answer", "asked", "begun", "body", "disconnected", "head", "held_bytes", "keep_alive", "message_event",
        "more_body", "refusal", "response_complete", "response_started", "scope",
    )  # fmt: skip

    def __init__(self, scope: Scope, head: Head, asked: str, begun: float) -> None:
        """``asked``: the request's id. ``begun``: when its headers had come, by the performance counter."""
        self.scope = scope
        self.head = head
        self.asked = asked
        self.begun = begun
        self.answer: Answer
        self.held_bytes = 0
        """Of the budget for bodies."""
        self.refusal: RequestError | None = None
        """Why it is refused, whatever still comes."""
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

    def begin(self, scope: Scope) -> UsualPost | None:
        """Its headers have come. ``None``: nothing was done, and ASGI's way finds what is unusual about it."""

    def arrived(self, post: UsualPost, size: int) -> None:
        """So many bytes of its body have come."""

    def take(self, post: UsualPost) -> None:
        """Its body has come: it is answered once the window is on disk, or was refused."""

    def drop(self, post: UsualPost) -> None:
        """The rest of its body does not come."""
