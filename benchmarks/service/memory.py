"""What the processes of a service hold in memory while a day of training comes in, as fast as it is taken."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import psutil

from benchmarks.ingest.made import request, windows
from benchmarks.ingest.ours import EVERY_S
from benchmarks.ingest.posts import post_all
from benchmarks.ingest.service import serving

HOURS, HOURS_APART = 24, 2
RANKS = 2
WORKERS = 2
WINDOWS_AN_HOUR = round(3_600 / EVERY_S)


def over_a_day() -> Iterator[tuple[int, float]]:
    """After each two hours of the run its hour, and the megabytes of all processes: shared pages count once."""
    made = [windows("run", HOURS * WINDOWS_AN_HOUR, WORKERS, rank) for rank in range(RANKS)]
    with (
        tempfile.TemporaryDirectory() as directory,
        serving(Path(directory, "underfed.db"), judges=True) as service,
    ):
        for hour in range(HOURS_APART, HOURS + 1, HOURS_APART):
            streams = [list(_requests(each, rank)) for rank, each in enumerate(made)]
            asyncio.run(post_all(service.port, streams))
            yield hour, _megabytes(psutil.Process(service.pid))


def _requests(made: Iterator[dict[str, Any]], rank: int) -> Iterator[bytes]:
    for window in islice(made, HOURS_APART * WINDOWS_AN_HOUR):
        yield request("/api/v1/ingest", json.dumps(window | {"rank": rank}, separators=(",", ":")).encode())


def _megabytes(service: psutil.Process) -> float:
    held = [each.memory_full_info().pss for each in (service, *service.children(recursive=True))]
    return sum(held) / 2**20
