"""One post to the service over a kept connection, and what came back."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

TIMEOUT_S = 10.0
"""For connecting, and for the whole answer: one that comes drop by drop is none."""

PATH = "/api/v1/ingest"
REPLY_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Reply:
    """``status`` ``None``: nobody answered, and ``reason`` says why."""

    status: int | None
    next_window_index: int | None = None
    wants_run: bool = False
    retry_after_s: float | None = None
    reason: str = ""
    code: str | None = None
    """Of the error, where the service itself names one: a proxy's answer has none."""


class Transport(Protocol):
    def post(self, body: bytes) -> Reply:
        """Deliver one gzipped window, blocking at most the transport's timeout. Raises nothing for a network."""


class HttpTransport:
    """The standard library's client: nothing enters a training environment for this. One thread uses it."""

    def __init__(self, url: str, token: str | None, timeout_s: float = TIMEOUT_S) -> None:
        parts = urlsplit(url)
        make = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = make(parts.hostname or "", parts.port, timeout=timeout_s)
        self._timeout_s = timeout_s
        self._is_late = False
        self._path = parts.path.rstrip("/") + PATH
        self._headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def post(self, body: bytes) -> Reply:
        was_open = self._connection.sock is not None
        reply = self._post(body)
        # A service closes a connection that was idle for long; that is found out by using it, and at once.
        return self._post(body) if reply.status is None and was_open and not self._is_late else reply

    def close(self) -> None:
        self._connection.close()

    def _post(self, body: bytes) -> Reply:
        try:
            with self._bounded():
                self._connection.request("POST", self._path, body, self._headers)
                response = self._connection.getresponse()
                content = response.read(REPLY_BYTES)
                if response.read(1):
                    self._connection.close()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            self._is_late |= isinstance(error, TimeoutError)
            reason = (
                f"no answer within {self._timeout_s:.0f} s" if self._is_late else f"{type(error).__name__}: {error}"
            )
            return Reply(None, reason=reason.rstrip(": "))
        return read_reply(response.status, content, response.getheader("Retry-After"))

    @contextmanager
    def _bounded(self) -> Iterator[None]:
        """The socket's own timeout begins anew with each byte; this one does not."""
        self._is_late = False
        timer = threading.Timer(self._timeout_s, self._shut_down)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _shut_down(self) -> None:
        self._is_late = True
        with suppress(OSError, TypeError):
            # Not the method of a TLS socket: that one takes the encryption away under the thread that reads.
            socket.socket.shutdown(self._connection.sock, socket.SHUT_RDWR)


def read_reply(status: int, content: bytes, retry_after: str | None) -> Reply:
    """As docs/wire.md has it; what is not JSON comes from something between, and only its status is told."""
    try:
        parsed = json.loads(content)
    except ValueError:
        parsed = None
    answer: Mapping[str, Any] = parsed if isinstance(parsed, dict) else {}
    error = answer.get("error")
    detail: Mapping[str, Any] = error if isinstance(error, dict) else {}
    next_index = detail.get("next_window_index", answer.get("next_window_index"))
    code = detail.get("code")
    return Reply(
        status=status,
        next_window_index=next_index if isinstance(next_index, int) else None,
        wants_run=answer.get("wants_run") is True,
        retry_after_s=_seconds(retry_after),
        reason=f"{status} {detail.get('code', '')} {detail.get('message', '')}".strip()[:500],
        code=code if isinstance(code, str) else None,
    )


def _seconds(text: str | None) -> float | None:
    return float(text) if text and text.isascii() and text.isdigit() else None
