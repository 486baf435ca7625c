"""One post to the service over a kept connection, and what came back."""

from __future__ import annotations

import http.client
import io
import json
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol
from urllib.parse import urlsplit

from underfed.exchange.figures import MAXIMA, OF_RUN

TIMEOUT_S = 10.0
"""Time limit for connecting, and for the whole answer, also where it comes byte by byte."""

PATH = "/api/v1/ingest"
REPLY_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Reply:
    """``status`` ``None``: there was no answer, ``reason`` is why."""

    status: int | None
    next_window_index: int | None = None
    wants_run: bool = False
    retry_after_s: float | None = None
    reason: str = ""
    code: str | None = None
    """Error code of the service; a proxy's answer has none."""
    tuning: Sequence[Any] | None = None
    """Settings that it proposes for trials, by loader, where the window asked for them."""
    switch: Mapping[str, Any] | None = None
    """What other hosts of the run report of switching at the same step, where the window asked for it."""
    verdict: Mapping[str, Any] | None = None
    """What the service last judged of the run, with the keys of ``figures.OF_RUN``."""
    verdict_age_s: float | None = None
    """How long before its answer the service began to read what that verdict is on; ``None``: it does not say."""

    def after(self, earlier: Reply | None) -> Reply:
        """With what an earlier one has and this one does not."""
        if earlier is None:
            return self
        tuning = earlier.tuning if self.tuning is None else self.tuning
        switch = earlier.switch if self.switch is None else self.switch
        return replace(self, wants_run=self.wants_run or earlier.wants_run, tuning=tuning, switch=switch)


class Transport(Protocol):
    def post(self, body: bytes) -> Reply:
        """Deliver one gzipped window, blocking at most the transport's timeout. Raises nothing for a network."""


class HttpTransport:
    """The standard library's client: training environments need no other package. One thread uses it."""

    def __init__(self, url: str, token: str | None, timeout_s: float = TIMEOUT_S) -> None:
        parts = urlsplit(url)
        connection = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = connection(parts.hostname or "", parts.port, timeout=timeout_s)
        self._connection.response_class = _bounded_response  # type: ignore[assignment]
        self._timeout_s = timeout_s
        self._path = parts.path.rstrip("/") + PATH
        self._headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def post(self, body: bytes) -> Reply:
        was_open = self._connection.sock is not None
        try:
            try:
                return self._post(body)
            except TimeoutError:
                raise
            except (OSError, http.client.HTTPException):
                # The service closes idle connections, which only the next request shows.
                if not was_open:
                    raise
                return self._post(body)
        except TimeoutError:
            return Reply(None, reason=f"no answer within {self._timeout_s:.0f} s")
        except (OSError, http.client.HTTPException) as error:
            return Reply(None, reason=f"{type(error).__name__}: {error}".rstrip(": "))

    def close(self) -> None:
        self._connection.close()

    def _post(self, body: bytes) -> Reply:
        try:
            if self._connection.sock is not None:
                self._connection.sock.settimeout(self._timeout_s)
            self._connection.request("POST", self._path, body, self._headers)
            response = self._connection.getresponse()
            content = response.read(REPLY_BYTES)
            if response.read(1):
                self._connection.close()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        return read_reply(response.status, content, response.getheader("Retry-After"))


class _BoundedReads(io.RawIOBase):
    """Reads of a socket that together take no longer than its timeout, which otherwise restarts with each byte."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._raw = connected.makefile("rb", buffering=0)
        self._deadline = time.monotonic() + (connected.gettimeout() or TIMEOUT_S)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """All that ``HTTPResponse`` asks of a socket."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        self._socket.settimeout(left_s)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _bounded_response(connected: socket.socket, method: str) -> http.client.HTTPResponse:
    return http.client.HTTPResponse(_BoundedReads(connected), method=method)  # type: ignore[arg-type]


def read_reply(status: int, content: bytes, retry_after: str | None) -> Reply:
    """As docs/wire.md has it; what is not JSON was sent by a proxy, and only its status counts."""
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
        tuning=proposed if isinstance(proposed := answer.get("tuning"), list) else None,
        switch=reported if isinstance(reported := answer.get("switch"), dict) else None,
        verdict=_verdict(answer.get("verdict")),
        verdict_age_s=age / 1e6 if isinstance(age := answer.get("verdict_age_us"), int) else None,
    )


def _verdict(sent: object) -> Mapping[str, Any] | None:
    if not isinstance(sent, dict) or not isinstance(sent.get("bound"), str):
        return None
    words = {name: sent[name] for name in ("bound", "cause") if isinstance(sent.get(name), str)}
    most = {name: sent[name] for name in MAXIMA if isinstance(sent.get(name), (int, float))}
    return {**dict.fromkeys(OF_RUN), **words, **most}


def _seconds(text: str | None) -> float | None:
    return float(text) if text and text.isascii() and text.isdigit() else None
