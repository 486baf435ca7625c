"""Asks what pages ask, one request after the other, in a process of its own: who posts windows must not be waited for.

As a program it takes a port, the id of a run, the seconds until the first request and those between two, asks until its
input is closed, and prints the milliseconds of each address.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from select import select

from tests.fakes.environment import clean_environment

Took = dict[str, list[float]]
"""Milliseconds of each request, by page."""


def addresses(run_id: str) -> Mapping[str, str]:
    return {
        "list": "/api/v1/runs?sort=-hours_lost&limit=200",
        "run": f"/api/v1/runs/{run_id}",
        "diagnosis": f"/api/v1/runs/{run_id}/diagnosis",
        "workers": f"/api/v1/runs/{run_id}/workers",
        "team": "/api/v1/team",
        "metrics": "/metrics",
        "hosts": "/api/v1/hosts",
    }


class Client:
    """One connection, kept alive."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)

    def ask(self, path: str) -> float:
        """Milliseconds until all of it was there.

        Raises:
            RuntimeError: the answer is not ``200``.
        """
        began = time.perf_counter()
        self._connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {body[:200]!r}")
        return (time.perf_counter() - began) * 1e3

    def close(self) -> None:
        self._connection.close()


@contextmanager
def asking(port: int, run_id: str, apart_s: float, *, first_s: float = 0.0) -> Iterator[Took]:
    """A process that asks while the block runs; what it has measured is there after it. ``first_s``: so long nothing is
    asked, since there is no run yet.
    """
    took: Took = {}
    arguments = [str(each) for each in (port, run_id, first_s, apart_s)]
    command = [sys.executable, "-m", "benchmarks.service.pages", *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_environment()
    ) as process:
        try:
            yield took
        finally:
            said, _ = process.communicate()
    took.update(json.loads(said))


def _ask_until_closed(client: Client, run_id: str, first_s: float, apart_s: float) -> Took:
    took, wait_s = Took(), first_s
    for page, path in cycle(addresses(run_id).items()):
        # Whoever started this closes its input to end it.
        if select([sys.stdin], [], [], wait_s)[0]:
            break
        took.setdefault(page, []).append(client.ask(path))
        wait_s = apart_s
    client.close()
    return took


def main(argv: Sequence[str]) -> None:
    port, run_id, first_s, apart_s = argv
    print(json.dumps(_ask_until_closed(Client(int(port)), run_id, float(first_s), float(apart_s))))


if __name__ == "__main__":
    main(sys.argv[1:])
