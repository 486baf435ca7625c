"""What each connection may take of the service before anything is known of who is at its other end: time and memory.

uvicorn waits for headers, bodies and readers without end, and keeps headers and pipelined requests without a limit.
"""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from typing import Any, Literal

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from underfed_server.api.admission.proxy import trusts
from underfed_server.api.admission.rate_limits import key_of
from underfed_server.counters import Counters, EndReason
from underfed_server.errors import (
    HeadersTooLargeError,
    MalformedError,
    RequestError,
    SlowRequestError,
    TooLargeError,
    TryLaterError,
    written,
)
from underfed_server.settings import Network

HEADERS_S = 10.0
"""From the first byte of a request, or from the connection's begin, until its headers are complete."""

BODY_S = 60.0
"""From then on until the body is complete: 4 MB at half a megabit a second."""

STALLED_S = 30.0
"""So long a client may leave unread what it asked for."""

MOST_HEADERS_BYTES = 64 * 2**10
MOST_MESSAGE_BYTES = 9 * 2**20
"""Of a body as it comes, in chunks, read or not."""

MOST_PIPELINED = 8
"""Requests of one connection that wait for the answers before theirs. Browsers and agents send none ahead."""

MOST_FILES = 65_536
FILES_BESIDE = 256
"""Open files for all but connections: the database, the page, threads."""

MOST_REFUSING = 64
REFUSING_S = 1.0
"""A refused connection is kept so long, and not more of them: closed at once, its client would see no answer."""


def raise_file_limit() -> int:
    """Let this process open as many files as it may. Returns how many connections that leaves room for."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(soft - FILES_BESIDE, soft // 2)


Part = Literal["headers", "body", "next"]
"""What is waited for; ``next``: a request, as long as uvicorn waits for one after an answer."""


class Connections:
    """All of one service. On one event loop."""

    def __init__(self, most: int, proxies: tuple[Network, ...], counters: Counters) -> None:
        """``proxies``: each speaks for many clients."""
        self._most = most
        self._proxies = proxies
        self._counters = counters
        self._by_address: Counter[str] = Counter()
        self._open = 0
        self.refusing = 0

    def admit(self, address: str) -> RequestError | None:
        """Count one more, or say why not: nobody but this machine and proxies may have more than half of all."""
        if self._open >= self._most:
            self.count("full")
            return TryLaterError("this service has as many connections as it may open", retry_after_s=5)
        if self._by_address[key_of(address)] >= self._most // 2 and not self._speaks_for_many(address):
            self.count("one_address")
            return TryLaterError("half of all connections of this service are from this address", retry_after_s=5)
        self._note(address, 1)
        return None

    def release(self, address: str) -> None:
        self._note(address, -1)

    def _note(self, address: str, more: int) -> None:
        key = key_of(address)
        self._open += more
        self._counters.connections.set(self._open)
        self._by_address[key] += more
        if not self._by_address[key]:
            del self._by_address[key]

    def _speaks_for_many(self, address: str) -> bool:
        return address.startswith(("127.", "::1")) or trusts(self._proxies, address)

    def count(self, reason: EndReason) -> None:
        self._counters.connections_ended.labels(reason).inc()


class BoundedProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, connections: Connections, **uvicorns: Any) -> None:
        super().__init__(**uvicorns)
        self._all = connections
        self._address: str | None = None
        """``None``: it was refused, or has ended."""
        self._awaited: Part | None = "headers"
        self._timed: Part | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._received_bytes = 0

    # --- begin and end ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) else ""
        refusal = self._all.admit(address)
        if refusal is not None:
            self._turn_away(transport, refusal)
            return
        self._address = address
        super().connection_made(transport)
        self._time()

    def _turn_away(self, transport: asyncio.Transport, refusal: RequestError) -> None:
        self.transport = transport
        if self._all.refusing >= MOST_REFUSING:
            transport.abort()
            return
        self._all.refusing += 1
        transport.write(_answer(refusal))
        self.loop.call_later(REFUSING_S, self._turned_away)

    def _turned_away(self) -> None:
        self._all.refusing -= 1
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._timer, self._stalled):
            if timer is not None:
                timer.cancel()
        if self._address is not None:
            self._all.release(self._address)
            self._address = None
            super().connection_lost(exc)

    # --- what comes -------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._address is None or self.transport.is_closing():
            return
        self._received_bytes += len(data)
        super().data_received(data)
        if self._awaited is None and (self.cycle is None or self.cycle.response_complete):
            # Line ends and the rest of a refused body begin no request, and ended uvicorn's own timer.
            self._awaited = "next"
        if self._awaited == "headers" and self._received_bytes > MOST_HEADERS_BYTES:
            self._end("headers_size", HeadersTooLargeError(f"the headers are larger than {MOST_HEADERS_BYTES:,} bytes"))
        elif self._awaited == "body" and self._received_bytes > MOST_MESSAGE_BYTES:
            self._end("body_size", TooLargeError(f"the body is larger than {MOST_MESSAGE_BYTES:,} bytes"))
        else:
            self._time()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._awaited = "headers"

    def on_headers_complete(self) -> None:
        self._awaited, self._received_bytes = "body", 0
        if len(self.pipeline) >= MOST_PIPELINED:
            self._all.count("pipelined")
            # The parser ends with it, and the connection.
            raise MalformedError("too many requests at once")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._awaited, self._received_bytes = None, 0

    def send_400_response(self, msg: str) -> None:
        self._refuse(MalformedError(msg))

    # --- what does not come -----------------------------------------------------------------------

    def _time(self) -> None:
        """One timer for each part of a request that is not complete; none for the usual one, which comes at once."""
        if self._awaited == self._timed:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timed, self._timer = self._awaited, None
        if self._awaited is not None:
            seconds = {"headers": HEADERS_S, "body": BODY_S, "next": self.timeout_keep_alive}[self._awaited]
            self._timer = self.loop.call_later(seconds, self._too_slow, self._awaited)

    def _too_slow(self, part: Part) -> None:
        if part == "next":
            self.transport.close()
            return
        seconds = HEADERS_S if part == "headers" else BODY_S
        self._end(part, SlowRequestError(f"the {part} of the request did not come within {seconds:g} s"))

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(STALLED_S, self._unread)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _unread(self) -> None:
        self._all.count("stalled")
        self.transport.abort()

    def _end(self, reason: EndReason, refusal: RequestError) -> None:
        self._all.count(reason)
        self._refuse(refusal)

    def _refuse(self, refusal: RequestError) -> None:
        """With the reason, unless that would come in the middle of an answer."""
        if not self._is_answering():
            self.transport.write(_answer(refusal))
        self.transport.close()

    def _is_answering(self) -> bool:
        if self.pipeline:
            return True
        if self._awaited == "headers":
            return self.cycle is not None and not self.cycle.response_complete
        return self.cycle is not None and self.cycle.response_started


def _answer(refusal: RequestError) -> bytes:
    body = written(refusal.detail())
    head = [f"HTTP/1.1 {refusal.status} {refusal.code}", "content-type: application/json", "connection: close"]
    head += [f"content-length: {len(body)}", *(f"{name}: {value}" for name, value in refusal.headers.items())]
    return "\r\n".join([*head, "", ""]).encode("ascii") + body
