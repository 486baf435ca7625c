"""What a service takes while nothing comes and pages are open."""

from __future__ import annotations

import asyncio
import socket
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import psutil

from benchmarks.ingest.made import requests
from benchmarks.ingest.ours import cpu_s
from benchmarks.ingest.posts import post_all
from benchmarks.ingest.service import serving

PAGES = 20
SECONDS = 30.0
SETTLE_S = 5.0
"""Until the ended runs are judged and compacted."""


def share_of_a_core() -> float:
    """Of all its processes."""
    with (
        tempfile.TemporaryDirectory() as directory,
        serving(Path(directory, "underfed.db"), judges=True) as service,
        ExitStack() as pages,
    ):
        asyncio.run(post_all(service.port, [requests(f"run-{index}", 20, 2, index) for index in range(4)]))
        for _ in range(PAGES):
            pages.enter_context(_stream(service.port))
        time.sleep(SETTLE_S)
        process = psutil.Process(service.pid)
        before, begun = cpu_s(process), time.monotonic()
        time.sleep(SECONDS)
        return (cpu_s(process) - before) / (time.monotonic() - begun)


def _stream(port: int) -> socket.socket:
    """An open event stream, as each page has one; the kernel keeps what is not read."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(b"GET /api/v1/events?topic=runs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    connection.recv(4_096)
    return connection
