"""How ingest scales over several service processes that share a PostgreSQL."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass

import psutil

from benchmarks.ingest.made import requests
from benchmarks.ingest.ours import CONNECTIONS, cpu_s
from benchmarks.ingest.posts import post_all
from benchmarks.ingest.service import serving
from tests.fakes.postgresql import Cluster

COUNTS = (1, 2, 4)
WINDOWS = 60
WORKERS = 8


@dataclass(frozen=True, slots=True)
class Figures:
    windows_per_s: float
    service_us: float
    """CPU a window of the service's processes."""
    database_us: float
    """And of the database's."""


def on_postgresql(count: int) -> Figures:
    """``count`` service processes without judges; runs are spread evenly over them. Everything is on disk before it is
    acknowledged."""
    streams = [requests(f"run-{index}", WINDOWS, WORKERS, index, with_everything=True) for index in range(CONNECTIONS)]
    with Cluster() as cluster, ExitStack() as stack:
        url = cluster.url.render_as_string(hide_password=False)
        services = [stack.enter_context(serving(url, judges=False)) for _ in range(count)]
        processes = [psutil.Process(each.pid) for each in services]
        database = psutil.Process(cluster.pid)
        before, of_database, begun = sum(map(cpu_s, processes)), _server_s(database), time.perf_counter()
        asyncio.run(_post([each.port for each in services], streams))
        seconds = time.perf_counter() - begun
        posts = sum(map(len, streams))
        spent, spent_there = sum(map(cpu_s, processes)) - before, _server_s(database) - of_database
    return Figures(posts / seconds, spent / posts * 1e6, spent_there / posts * 1e6)


def _server_s(server: psutil.Process) -> float:
    """CPU of a database's server and its connections, those that have ended included."""
    spent = sum(server.cpu_times()[:4])
    for each in server.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            spent += sum(each.cpu_times()[:2])
    return spent


async def _post(ports: Sequence[int], streams: Sequence[Sequence[bytes]]) -> None:
    shares = [streams[place :: len(ports)] for place in range(len(ports))]
    await asyncio.gather(*(post_all(port, share) for port, share in zip(ports, shares, strict=True)))
