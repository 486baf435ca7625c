"""Serves figures of the processes below ``underfed run`` on this machine, for W&B: its own process asks for them.

The launcher does, and no other: it is there before the first process and after the last one, so that W&B, which waits
for what it asked at the end of a run, always has an answer at once. The training processes send and serve nothing.
"""

from __future__ import annotations

import secrets
import signal
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from underfed.exchange import figures, launch
from underfed.exchange.facts import origins_in
from underfed.exchange.trackers import SWITCH

PATIENCE_S = 5.0
TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def serve(environ: Mapping[str, str], roots: list[Path], launches: Path) -> dict[str, str]:
    """Begin to listen, and serve on a thread until this process ends. Returns the variable by which the processes below
    find it; none where trackers are to get nothing, or nothing can be listened at.

    ``roots``: where runs may have their rings; ``launches``: where the command's processes report their runs.
    """
    if environ.get(SWITCH) == "0":
        return {}
    try:
        listening = socket.create_server(("127.0.0.1", 0))
    except OSError:
        return {}
    secret = secrets.token_urlsafe(12)
    # The new thread must take no signal: the main one waits for them.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    arguments = (listening, secret, lambda pid: figures_of(pid, roots, launches))
    threading.Thread(target=_serve, args=arguments, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return {launch.FIGURES: f"http://127.0.0.1:{listening.getsockname()[1]}/{secret}"}


def figures_of(pid: int, roots: list[Path], launches: Path) -> dict[str, Any]:
    """Of the recording of that process; else, of the lowest rank of the only run: a program may log in one process and
    train in others. ``figures.nothing()`` where there is none."""
    runs = set(launch.read_reports(launches).get(launch.RECORDING, []))
    found = origins_in(root / run_id for root in roots for run_id in runs)
    ranks = sorted(found, key=lambda each: (each[0].rank, -each[0].incarnation))
    chosen = next((path for origin, path in ranks if origin.pid == pid), None)
    if chosen is None and len(runs) == 1 and ranks:
        chosen = ranks[0][1]
    return figures.nothing() if chosen is None else figures.read(str(chosen / figures.FILE))


def as_open_metrics(found: Mapping[str, Any]) -> str:
    """Gauges without labels, ``data_stall_fraction 0.43``: W&B distinguishes them by their names. Durations are
    in seconds."""
    lines = []
    for name, value in figures.scalars(found).items():
        if name.endswith("_us"):
            name, value = name.removesuffix("_us") + "_seconds", value * 1e-6  # noqa: PLW2901
        lines += [f"# TYPE {name} gauge", f"{name} {value:.9g}"]
    return "\n".join([*lines, "# EOF", ""])


def _serve(listening: socket.socket, secret: str, find: Callable[[int], dict[str, Any]]) -> None:
    # Imported here: the command has started meanwhile.
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        timeout = PATIENCE_S

        def do_GET(self) -> None:
            """Other users of the machine, who do not know the secret, get nothing."""
            _, given, pid, *rest = [*self.path.split("/"), "", ""]
            is_known = secrets.compare_digest(given.encode(), secret.encode()) and pid.isdecimal() and not any(rest)
            body = as_open_metrics(find(int(pid))).encode() if is_known else b""
            self.send_response(200 if is_known else 404)
            self.send_header("Content-Type", TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed into the command's output."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """Likewise."""

    with suppress(OSError):
        server = Server(("127.0.0.1", 0), Handler, bind_and_activate=False)
        server.socket.close()
        server.socket = listening
        server.serve_forever(poll_interval=60.0)
