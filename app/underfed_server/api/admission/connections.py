"""What each connection may take of the service before anything is known of who is at its other end: time and memory.

uvicorn waits for headers, bodies and readers without end, keeps headers, pipelined requests and unread answers without
a limit, and passes on requests that a proxy in front may have read differently.
"""

from __future__ import annotations

import asyncio
import fcntl
import re
import resource
import struct
import termios
from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Any, Literal, cast

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from underfed_server.api.admission.proxy import trusts
from underfed_server.api.admission.rate_limits import key_of
from underfed_server.api.admission.usual_post import MOST_USUAL_BYTES, UsualPost, UsualPosts
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
from underfed_server.ingest.endpoint import PATH
from underfed_server.settings import Network

HEADERS_S = 10.0
"""From the first byte of a request, or from the connection's begin, until its headers are complete."""

BODY_S = 60.0
"""From then on until the body is complete: 4 MB at half a megabit a second."""

STALLED_S = 30.0
"""So long a client may leave unread what it asked for."""

LEAST_READ_BYTES_PER_S = 16 * 2**10
"""Who reads slower uses up that time, however often a little is read."""

MOST_UNREAD_BYTES = 64 * 2**20
"""Of all connections together. A page of a thousand runs is less than one."""

UNREAD_BYTES = 16 * 2**10
"""More than that of one connection counts, and its next request waits."""

LINGER_S = 2.0
"""So long the rest of a refused request is read and dropped: closed at once, its client could not read why."""

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


SINGLE = frozenset({b"host", b"content-length", b"transfer-encoding", b"content-type", b"authorization", b"origin"})
"""Headers of which one parser reads the first and another the last."""

_HOST = re.compile(rb"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]*)(:\d{1,5})?")
"""No user, no path, no list, and nothing encoded."""

_INGEST = PATH.encode()

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
        self._unread: dict[BoundedProtocol, int] = {}
        """Bytes that wait for their readers, of who waits longest first."""
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

    def wait_for_reader(self, connection: BoundedProtocol, size: int) -> None:
        """Beyond the limit, connections of the address that leaves most unread are ended, the longest waiting first."""
        self._unread[connection] = size
        while sum(self._unread.values()) > MOST_UNREAD_BYTES:
            by_address: Counter[str] = Counter()
            for each, unread in self._unread.items():
                by_address[each.key] += unread
            worst = max(by_address, key=by_address.__getitem__)
            next(each for each in self._unread if each.key == worst).end_unread("unread")

    def no_longer_wait_for(self, connection: BoundedProtocol) -> None:
        self._unread.pop(connection, None)

    def count(self, reason: EndReason) -> None:
        self._counters.connections_ended.labels(reason).inc()


def _unacknowledged_bytes(transport: asyncio.Transport) -> int:
    """What the kernel holds until the client has it: megabytes, where a client reads slowly. 0: it does not say."""
    file = transport.get_extra_info("socket")
    try:
        unacknowledged = fcntl.ioctl(file.fileno(), termios.TIOCOUTQ, bytes(4)) if file is not None else bytes(4)
    except (OSError, ValueError):  # no such call here, or closed
        return 0
    return int(struct.unpack("i", unacknowledged)[0])


class _Transport:
    """What uvicorn writes to and closes; closing is the connection's own affair."""

    def __init__(self, transport: asyncio.Transport, connection: BoundedProtocol) -> None:
        self._write = transport.write
        self.written = 0
        self.get_extra_info = transport.get_extra_info
        self.close = connection.leave
        self.is_closing = connection.is_leaving

    def write(self, data: bytes) -> None:
        self.written += len(data)
        self._write(data)

    def let_go(self, transport: asyncio.Transport) -> None:
        """The connection is lost: what refers to it only through this is freed at once, with its memory."""
        self.close, self.is_closing = transport.close, transport.is_closing


class BoundedProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, connections: Connections, posts: UsualPosts, **uvicorns: Any) -> None:
        super().__init__(**uvicorns)
        self._all = connections
        self._posts = posts
        self._address: str | None = None
        """``None``: it was refused, or has ended."""
        self._awaited: Part | None = "headers"
        self._timed: Part | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._unread_since = 0.0
        self._patience_s = STALLED_S
        self._had_read = 0
        """Bytes that the client had when its patience was counted last."""
        self._received_bytes = 0
        self._wrong: RequestError | None = None
        """Why the parser was ended."""
        self._is_begun = False
        """The request whose parts come is the one that is answered last."""
        self._is_answering_last = False
        """What came after a request is not one: that request is answered, nothing more is read."""
        self._is_leaving = False
        self._answered: RequestResponseCycle | UsualPost | None = None
        self._post: UsualPost | None = None
        """Whose body is awaited."""
        self._idle: asyncio.TimerHandle | None = None
        self._answered_at = 0.0
        """When a post was, last."""
        self._own: asyncio.Transport
        self._uvicorns: _Transport
        self.key = ""
        """The address as one customer."""

    # --- begin and end ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) else ""
        self._own = transport
        self.key = key_of(address)
        refusal = self._all.admit(address)
        if refusal is not None:
            self._turn_away(transport, refusal)
            return
        self._address = address
        transport.set_write_buffer_limits(UNREAD_BYTES)
        super().connection_made(transport)
        self._uvicorns = _Transport(transport, self)
        self.transport = cast(asyncio.Transport, self._uvicorns)
        self._time()

    def _turn_away(self, transport: asyncio.Transport, refusal: RequestError) -> None:
        if self._all.refusing >= MOST_REFUSING:
            transport.abort()
            return
        self._all.refusing += 1
        transport.write(_answer(refusal))
        self.loop.call_later(REFUSING_S, self._turned_away)

    def _turned_away(self) -> None:
        self._all.refusing -= 1
        self._own.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._timer, self._stalled, self._idle):
            if timer is not None:
                timer.cancel()
        if self._address is not None:
            self._all.release(self._address)
            self._address = None
            self._is_leaving = True
            self._all.no_longer_wait_for(self)
            # uvicorn notifies the newest request alone, which others may be before.
            if self._answered is not None:
                self._answered.disconnected = True
                self._answered.message_event.set()
            if self._post is not None:
                self._posts.drop(self._post)
            super().connection_lost(exc)
            self._uvicorns.let_go(self._own)

    def leave(self) -> None:
        """Close it, once what was written is read; what still comes of a request is dropped for a while."""
        if self._is_leaving:
            return
        self._is_leaving = True
        if self._timer is not None:
            self._timer.cancel()
        if self._awaited in ("headers", "body") and self._own.can_write_eof():
            self._own.write_eof()
            self.flow.resume_reading()
            self._timer = self.loop.call_later(LINGER_S, self._own.abort)
            return
        self._own.close()
        if self._stalled is None:
            self._wait_for_reader()

    def shutdown(self) -> None:
        """At the service's end nothing is waited for but the answer under way."""
        if self._is_leaving or self.cycle is None or self.cycle.response_complete:
            self._is_leaving = True
            self._own.close()
        else:
            super().shutdown()

    def is_leaving(self) -> bool:
        return self._is_leaving or self._own.is_closing()

    # --- what comes -------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._address is None:
            return
        self._received_bytes += len(data)
        if self.is_leaving() or self._is_answering_last:
            if self._received_bytes > MOST_MESSAGE_BYTES:
                self._own.abort()
            return
        super().data_received(data)
        if self._awaited is None and (self.cycle is None or self.cycle.response_complete):
            # Line ends and the rest of a refused body begin no request, and ended uvicorn's own timer.
            self._awaited = "next"
        if self._awaited == "headers" and self._received_bytes > MOST_HEADERS_BYTES:
            self._end("headers_size", _too_large())
        elif self._awaited == "body" and self._received_bytes > MOST_MESSAGE_BYTES:
            self._end("body_size", TooLargeError(f"the body is larger than {MOST_MESSAGE_BYTES:,} bytes"))
        else:
            self._time()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._awaited, self._is_begun = "headers", False

    def on_headers_complete(self) -> None:
        self._awaited, self._received_bytes = "body", 0
        # The parser ends with what is raised, and the connection.
        if len(self.pipeline) >= MOST_PIPELINED:
            self._all.count("pipelined")
            raise MalformedError("too many requests at once")
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MOST_HEADERS_BYTES:
            self._wrong = _too_large()
        elif ambiguity := _ambiguity(self.url, self.headers, self.parser.get_http_version()):
            self._wrong = MalformedError(ambiguity)
        if self._wrong is not None:
            raise self._wrong
        post = self._usual_post()
        if post is None:
            super().on_headers_complete()
        else:
            post.answer = partial(self._answer_post, post)
            self._answered = self._post = post
            self.cycle = cast(RequestResponseCycle, post)
        self._is_begun = True

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, self._once_read(cycle, app) if self.flow.write_paused else app)

    def _once_read(self, cycle: RequestResponseCycle, app: ASGI3Application) -> ASGI3Application:
        """Answers are made for who reads them: that of the next request would wait in memory too."""

        async def answering(scope: Any, receive: Any, send: Any) -> None:
            await self.flow.drain()
            if not cycle.disconnected:
                await app(scope, receive, send)

        return answering

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._awaited, self._received_bytes = None, 0
        if self._post is not None:
            post, self._post = self._post, None
            self._posts.take(post)

    # --- posts of windows -------------------------------------------------------------------------

    def _usual_post(self) -> UsualPost | None:
        """``None``: this request is none, or another one is under way."""
        if self.url != _INGEST or self.parser.get_method() != b"POST" or self.expect_100_continue:
            return None
        if self.parser.get_http_version() != "1.1" or not self.parser.should_keep_alive():
            return None
        is_free = self.cycle is None or self.cycle.response_complete
        length = next((value for name, value in self.headers if name == b"content-length"), b"")
        # All digits: the parser refuses others.
        if not is_free or self.flow.write_paused or not length or int(length) > MOST_USUAL_BYTES:
            return None
        self.scope |= {"method": "POST", "path": PATH, "query_string": b""}
        return self._posts.begin(cast(Any, self.scope))

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        if self._post is not None:
            self._posts.arrived(self._post, len(body))

    def _answer_post(self, post: UsualPost, status: int, body: bytes, headers: Iterable[tuple[str, str]]) -> bool:
        """``False``: nobody receives it."""
        if post.disconnected or self._is_leaving:
            return False
        head = [STATUS_LINE[status]]
        for known, content in self.server_state.default_headers:
            head += known, b": ", content, b"\r\n"
        own = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        own += "".join(f"{name.lower()}: {value}\r\n" for name, value in headers)
        if not post.keep_alive:
            own += "connection: close\r\n"
        self.transport.write(b"".join((*head, own.encode("latin-1"), b"\r\n", body)))
        post.response_started = post.response_complete = True
        if not post.keep_alive:
            self.transport.close()
        if self.pipeline or self.transport.is_closing():
            self.on_response_complete()
        else:
            self.server_state.total_requests += 1
            self.flow.resume_reading()
            self._await_next()
        return True

    def _await_next(self) -> None:
        """As uvicorn does, but with a timer that goes on. Own study: to set one for each post and end it at the next
        took 4 % of a service to which 2,400 agents posted.
        """
        self._answered_at = self.loop.time()
        if self._idle is None:
            self._idle = self.loop.call_later(self.timeout_keep_alive, self._end_idle)

    def _end_idle(self) -> None:
        self._idle = None
        left_s = self._answered_at + self.timeout_keep_alive - self.loop.time()
        if type(self._answered) is not UsualPost or not self._answered.response_complete or self._awaited == "headers":
            return  # what came since has its own timer
        if left_s <= 0:
            self.leave()
        else:
            self._idle = self.loop.call_later(left_s, self._end_idle)

    # --- what is no request -----------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        reason: EndReason = "headers_size" if isinstance(self._wrong, HeadersTooLargeError) else "malformed"
        is_whole = not self._is_begun or (self._wrong is None and self._awaited != "body")
        if is_whole and self.cycle is not None and not self.cycle.response_complete:
            # What came behind it is no request: this one is answered, and nothing after it.
            self._all.count(reason)
            self.cycle.keep_alive = False
            self._is_answering_last, self._awaited = True, None
        else:
            self._end(reason, self._wrong or MalformedError(msg))

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
            self.leave()
            return
        seconds = HEADERS_S if part == "headers" else BODY_S
        self._end(part, SlowRequestError(f"the {part} of the request did not come within {seconds:g} s"))

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_reader()
        self._all.wait_for_reader(self, self._own.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        self._all.no_longer_wait_for(self)
        self._count_patience()

    def _wait_for_reader(self) -> None:
        self._unread_since = self.loop.time()
        self._stalled = self.loop.call_later(self._patience_s, self._count_read)

    def _count_patience(self) -> None:
        """Less by the time that was waited, more by what was read meanwhile."""
        now = self.loop.time()
        had = self._uvicorns.written - self._own.get_write_buffer_size() - _unacknowledged_bytes(self._own)
        left_s = max(0.0, self._patience_s - (now - self._unread_since))
        self._patience_s = min(STALLED_S, left_s + (had - self._had_read) / LEAST_READ_BYTES_PER_S)
        self._unread_since, self._had_read = now, had

    def _count_read(self) -> None:
        self._count_patience()
        if self._patience_s > 0:
            self._stalled = self.loop.call_later(self._patience_s, self._count_read)
        else:
            self.end_unread("stalled")

    def end_unread(self, reason: EndReason) -> None:
        self._all.count(reason)
        self._all.no_longer_wait_for(self)
        self._own.abort()

    def _end(self, reason: EndReason, refusal: RequestError) -> None:
        self._all.count(reason)
        self._refuse(refusal)

    def _refuse(self, refusal: RequestError) -> None:
        """With the reason, unless that would come in the middle of an answer."""
        if not self._is_answering():
            self._own.write(_answer(refusal))
        self.leave()

    def _is_answering(self) -> bool:
        if self.pipeline:
            return True
        if self._awaited == "headers":
            return self.cycle is not None and not self.cycle.response_complete
        return self.cycle is not None and self.cycle.response_started


def _too_large() -> HeadersTooLargeError:
    return HeadersTooLargeError(f"the headers are larger than {MOST_HEADERS_BYTES:,} bytes")


def _ambiguity(target: bytes, headers: list[tuple[bytes, bytes]], version: str) -> str | None:
    """What in a request others may read differently; ``None``: nothing. Some of it the parser refuses itself."""
    names = [name for name, _ in headers]
    if repeated := [name for name in SINGLE if names.count(name) > 1]:
        return f"more than one {repeated[0].decode()} header"
    host = next((value for name, value in headers if name == b"host"), None)
    if host is None:
        return "no host header" if version != "1.0" else None
    if not _HOST.fullmatch(host):
        return "the host header is not a name or address with a port"
    if not target.startswith((b"/", b"*")) and target.partition(b"://")[2].partition(b"/")[0].lower() != host.lower():
        return "the address names another host than the host header"
    if b"content-length" in names and b"transfer-encoding" in names:
        return "both a content-length and a transfer-encoding header"
    return None


def _answer(refusal: RequestError) -> bytes:
    body = written(refusal.detail())
    head = [f"HTTP/1.1 {refusal.status} {refusal.code}", "content-type: application/json", "connection: close"]
    head += [f"content-length: {len(body)}", *(f"{name}: {value}" for name, value in refusal.headers.items())]
    return "\r\n".join([*head, "", ""]).encode("ascii") + body
