"""A small real HTTP service that follows docs/wire.md, with faults that a test chooses: the agent is tested with it."""

from __future__ import annotations

import gzip
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from underfed.collector.reading.ends import UNKNOWN_STATUS

Window = dict[str, Any]
Stream = tuple[str, int, int]
"""Run id, rank, incarnation."""


@dataclass(frozen=True)
class Fault:
    """An answer in place of the service's own; ``status`` 0 closes the connection without one."""

    status: int
    body: dict[str, Any] | bytes = field(default_factory=dict)
    """Bytes: from a proxy, without JSON."""
    headers: dict[str, str] = field(default_factory=dict)
    after_commit: bool = False
    """The window is stored, and then the answer goes wrong: the agent has to send it again."""
    manner: str = "whole"
    """``cut``: half of the answer, and a reset; ``drips``: four bytes a second; ``hangs``: nothing. The last two go on
    until ``let_go()``."""


class Service:
    """Keeps what was posted, in order, each window once. All attributes may be read while it runs."""

    def __init__(self) -> None:
        self.windows: list[Window] = []
        self.posts = 0
        self.tokens: list[str | None] = []
        self.faults: list[Fault] = []
        """One for each post, the first first."""
        self.always: Fault | None = None
        self.wants_run = False
        self.verdict: Window | None = None
        """What its answers say was judged of the run."""
        self.judged_at: float | None = None
        """When that was, by ``time.monotonic()``; ``None``: its answers do not say, as those of older services."""
        self.delay_s = 0.0
        self._next: dict[Stream, int] = {}
        self._lock = threading.Lock()
        self._released = threading.Event()
        self._server: ThreadingHTTPServer | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Also again after ``stop()``, on the same port, with everything it has stored."""
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                service._handle(self, self.rfile.read(length))

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass

        self._server = Server(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def let_go(self) -> None:
        """Requests that are held by a delay or a fault go on, and no more faults come."""
        self.always, self.delay_s = None, 0.0
        self.faults.clear()
        self._released.set()
        self._released = threading.Event()

    def stop(self) -> None:
        """As a killed service: connections break."""
        self._released.set()
        self._released = threading.Event()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        self.always = None

    def forget(self) -> None:
        """As if started on an empty database."""
        with self._lock:
            self.windows.clear()
            self._next.clear()

    def _handle(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        released = self._released
        released.wait(self.delay_s)
        with self._lock:
            self.posts += 1
            self.tokens.append(handler.headers["Authorization"])
            fault = self.faults.pop(0) if self.faults else self.always
            if self._server is None:
                fault = Fault(0)
            status = 0
            answer: dict[str, Any] = {}
            if fault is None or fault.after_commit:
                status, answer = self._take(json.loads(gzip.decompress(body)))
        if fault is None:
            _answer(handler, status, json.dumps(answer).encode(), {})
        elif fault.status == 0:
            handler.close_connection = True
            handler.connection.close()
        else:
            _fail(handler, fault, answer, released)

    def _take(self, window: Window) -> tuple[int, dict[str, Any]]:
        stream = window["run_id"], window["rank"], window["incarnation"]
        expected = self._next.get(stream, 0)
        index, previous = window["window_index"], window.get("previous_window_index")
        if index < expected:
            return 200, {"next_window_index": expected, "wants_run": False} | self._judged()
        if previous is not None and previous >= expected:
            error = {"code": "out_of_order", "message": "an earlier window is missing", "next_window_index": expected}
            return 409, {"error": error}
        self._next[stream] = index + 1
        self.windows.append(window)
        wants_run, self.wants_run = self.wants_run, False
        return 200, {"next_window_index": index + 1, "wants_run": wants_run} | self._judged()

    def _judged(self) -> dict[str, Any]:
        if self.verdict is None:
            return {}
        age_s = None if self.judged_at is None else time.monotonic() - self.judged_at
        return {"verdict": self.verdict} | ({} if age_s is None else {"verdict_age_us": round(age_s * 1e6)})

    def steps(self, loader: str | None = None, rank: int = 0) -> list[Window]:
        """All Steps objects of a rank, in the order posted."""
        with self._lock:
            windows = [window for window in self.windows if window["rank"] == rank]
        found = [steps for window in windows for steps in window.get("steps", [])]
        return [steps for steps in found if loader in (None, steps["loader"])]

    def batches(self) -> list[Window]:
        with self._lock:
            return [batches for window in self.windows for batches in window.get("batches", [])]

    def epochs(self) -> dict[tuple[str, int], Window]:
        """The newest state of each."""
        with self._lock:
            found = [epoch for window in self.windows for epoch in window.get("epochs", [])]
        return {(epoch["loader"], epoch["epoch_index"]): epoch for epoch in found}

    def loaders(self) -> dict[str, Window]:
        """The newest facts of each."""
        with self._lock:
            found = [facts for window in self.windows for facts in window.get("loaders", [])]
        return {facts["loader"]: facts for facts in found}

    def ends(self) -> list[Window]:
        """How each stream ended, of those of which no more will be known."""
        reported: dict[Stream, list[Window]] = {}
        with self._lock:
            for window in self.windows:
                if "end" in window:
                    reported.setdefault((window["run_id"], window["rank"], window["incarnation"]), []).append(
                        window["end"]
                    )
        return [ends[-1] for ends in reported.values() if not is_preliminary(ends[-1])]

    def count_steps(self, loader: str | None = None) -> int:
        return sum(len(steps["data_wait_us"]) for steps in self.steps(loader))


def is_preliminary(end: Window) -> bool:
    """Posted before the process was gone: kernel or launcher have yet to report its exit status."""
    reason: str = end.get("exit_reason", "")
    return reason.removesuffix(")").endswith(UNKNOWN_STATUS)


def _answer(handler: BaseHTTPRequestHandler, status: int, content: bytes, headers: dict[str, str]) -> None:
    handler.send_response(status)
    for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(content)


def _fail(handler: BaseHTTPRequestHandler, fault: Fault, answer: Window, released: threading.Event) -> None:
    """``answer``: what a service that had stored the window would have said."""
    body = answer if fault.status == 200 and fault.body == {} else fault.body
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    if fault.manner == "whole":
        _answer(handler, fault.status, content, fault.headers)
        return
    handler.close_connection = True
    if fault.manner == "hangs":
        released.wait()
        return
    _answer(handler, fault.status, b"", {"Content-Length": str(len(content))})
    if fault.manner == "cut":
        handler.wfile.write(content[: len(content) // 2])
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.connection.close()
    while fault.manner == "drips" and content and not released.wait(0.25):
        handler.wfile.write(content[:1])
        content = content[1:]


@contextmanager
def running_service() -> Iterator[Service]:
    service = Service()
    service.start()
    try:
        yield service
    finally:
        service.stop()


PATIENCE_S = 120.0
"""What usually takes a moment may take a minute on a busy machine: arriving late is no failure."""


def wait_until(
    is_so: Callable[[], object], what: str, timeout_s: float = PATIENCE_S, longest_pause_s: float = 0.01
) -> None:
    """Poll instead of sleeping for a guessed time, ever more seldom, until each ``longest_pause_s``."""
    deadline, pause_s = time.monotonic() + timeout_s, 0.01
    while not is_so():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s:.0f} s: {what}")
        time.sleep(pause_s)
        pause_s = min(1.5 * pause_s, longest_pause_s)


@contextmanager
def judging_after(service: Service, steps: int, verdict: Window) -> Iterator[None]:
    """The service has its verdict once it has so many steps: its answers to what came until then do not have it."""

    def judge() -> None:
        wait_until(lambda: service.count_steps() >= steps, "all steps came")
        service.judged_at, service.verdict = time.monotonic(), verdict

    with ThreadPoolExecutor(1) as judging:
        judged = judging.submit(judge)
        yield
        judged.result()
