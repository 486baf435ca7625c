"""How much slower pages are while a large run is exported, against the same pages before and after."""

from __future__ import annotations

import http.client
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from benchmarks.ingest.service import serving
from benchmarks.queries.build import Shape
from benchmarks.queries.stores import build
from benchmarks.service.pages import asking

STEPS = 1_000_000
RUN = "long"
TURNS = 4
TURN_S = 6.0
APART_S = 0.02


def beside_an_export() -> Mapping[str, tuple[float, float]]:
    """By page the median in milliseconds alone, and beside an export: in turns, so that both see the same machine."""
    took: dict[bool, dict[str, list[float]]] = {False: defaultdict(list), True: defaultdict(list)}
    with tempfile.TemporaryDirectory() as directory:
        database = Path(directory, "underfed.db")
        build(database, [Shape(RUN, 1, STEPS)])
        with serving(database, judges=True) as service:
            for turn in range(2 * TURNS):
                is_beside = turn % 2 == 1
                for page, each in _turn(service.port, is_beside=is_beside).items():
                    took[is_beside][page] += each
    return {page: (statistics.median(took[False][page]), statistics.median(took[True][page])) for page in took[False]}


def _turn(port: int, *, is_beside: bool) -> Mapping[str, list[float]]:
    is_over = threading.Event()
    exporting = threading.Thread(target=_export, args=(port, is_over))
    if is_beside:
        exporting.start()
    with asking(port, RUN, APART_S) as took:
        time.sleep(TURN_S)
    if is_beside:
        is_over.set()
        exporting.join()
    return took


def _export(port: int, is_over: threading.Event) -> None:
    """One after the other, until it is over: then in the middle of one."""
    while not is_over.is_set():
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", f"/api/v1/runs/{RUN}/export?format=csv")
        answer = connection.getresponse()
        while not is_over.is_set() and answer.read(2**20):
            pass
        connection.close()
