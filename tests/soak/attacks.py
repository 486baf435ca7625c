"""Attacks on a service in a process of its own, each on a fresh one, with what they cost it: memory and waiting.

``python -m tests.soak.attacks`` prints a line for each: resident memory before, at most and ten seconds after, how long
somebody else waited meanwhile, and what the attack was answered. ``PYTHONPATH`` chooses another checkout's service.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, cast

from tests.app.made_windows import made_window, posted
from tests.fakes.environment import clean_environment

TOKEN = "the-token-of-the-attacked-service"
USUAL_FILES = 1_024
"""Open files that a process may have where nobody chose otherwise."""

HELD_S = 15.0
REST_S = 10.0
ASKED_EVERY_S = 0.2
LONGEST_S = 60.0


@dataclass(frozen=True, slots=True)
class Attacked:
    """A service, and what it is asked meanwhile by somebody who has the token."""

    process: subprocess.Popen[str]
    port: int

    def memory(self, name: str = "VmRSS") -> float:
        """In MB; ``VmHWM``: the most there was."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1_000 for line in lines if line.startswith(name))

    def ask(
        self, path: str, body: bytes | None = None, timeout_s: float = LONGEST_S, **headers: str
    ) -> tuple[int, bytes]:
        """Status 0: there was no answer."""
        said = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        said |= {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)) as connection:
            try:
                connection.request("GET" if body is None else "POST", path, body, said)
                answer = connection.getresponse()
                return answer.status, answer.read()
            except (OSError, HTTPException):
                return 0, b""

    def connected(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=LONGEST_S)


@contextmanager
def attacked(directory: Path) -> Iterator[Attacked]:
    command = [sys.executable, "-m", "underfed_server", "--port", "0", "--db", f"sqlite:///{directory / 'u.db'}"]

    def with_usual_limits() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (USUAL_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

    process = subprocess.Popen(
        [*command, "--requests-per-s", "0"],
        env=clean_environment(UNDERFED_TOKEN=TOKEN, UNDERFED_DIR=str(directory)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=directory,
        preexec_fn=with_usual_limits,  # noqa: PLW1509 no thread of ours runs yet
    )
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2].partition("/")[0])
        yield Attacked(process, port)
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@dataclass(slots=True)
class Waits:
    """How long somebody else waits for answers meanwhile, in seconds."""

    service: Attacked
    token: str
    """Another one than the attacker's."""
    seconds: dict[str, list[float]] = field(default_factory=dict)
    unanswered: int = 0
    _ended: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def measured(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._ask, args=[path]) for path in ("/healthz", "/api/v1/runs?limit=50")]
        for each in threads:
            each.start()
        try:
            yield
        finally:
            self._ended.set()
            for each in threads:
                each.join()

    def _ask(self, path: str) -> None:
        while not self._ended.is_set():
            begun = time.monotonic()
            status, _ = self.service.ask(path, Authorization=f"Bearer {self.token}")
            self.unanswered += status != 200
            self.seconds.setdefault(path, []).append(time.monotonic() - begun)
            self._ended.wait(ASKED_EVERY_S)

    def said(self) -> str:
        words = [
            f"{path.partition('?')[0]} {statistics.median(waits):.2f} s, at most {max(waits):.2f} s"
            for path, waits in sorted(self.seconds.items(), reverse=True)
        ]
        return "; ".join([*words, f"{self.unanswered} unanswered"])


def zeros(service: Attacked) -> str:
    """A small window of eight million zeros in a column of samples, from eight agents at once, twice."""
    window = made_window(0)
    window["process"] = {"at_us": []}
    text = posted(window).replace(b'"at_us": []', b'"at_us": [' + b"0," * 7_900_000 + b"0]")
    body = gzip.compress(text, 9)
    return f"{len(body) / 1_000:.0f} kB each: {_at_once(service, body, 8, 2)}"


def largest(service: Attacked) -> str:
    """Windows that are all at the limits, from eight agents at once, five times."""
    steps, batches, samples = [1_000] * 4_096, list(range(16_384)), list(range(10**9, 10**9 + 16_384))

    def post(agent: int) -> tuple[int, bytes]:
        for index in range(5):
            window = made_window(index, run_id=f"large-{agent}", process={"at_us": samples, "rss_bytes": samples})
            at = {"loader": "train", "epoch_index": 0}
            window["steps"] = [{**at, "first_step_index": 4_096 * index, "first_batch_index": 0, "start_us": 0,
                                "step_us": steps, "data_wait_us": steps}]  # fmt: skip
            window["batches"] = [{**at, "batch_index": batches, "start_us": samples, "load_us": batches,
                                  "cpu_us": batches, "blocked_us": batches}]  # fmt: skip
            answer = service.ask("/api/v1/ingest", gzip.compress(posted(window), 1), Content_Encoding="gzip")
        return answer

    return _counted([partial(post, agent) for agent in range(8)])


def bombs(service: Attacked) -> str:
    """Four megabytes that inflate to four gigabytes, from eight agents at once."""
    body = gzip.compress(b"0" * 2**22, 9)
    many = body * (3_900_000 // len(body))
    return _at_once(service, many, 8, 2)


def texts(service: Attacked) -> str:
    """A run whose configuration is fifteen megabytes of text, from eight agents at once."""
    bodies = []
    for number in range(8):
        window = made_window(0, run_id=f"text-{number}")
        window["run"] = {"config": {f"key {index}": "x" * 9_900 for index in range(1_500)}}
        bodies.append(gzip.compress(posted(window), 1))
    return _counted([lambda body=body: service.ask("/api/v1/ingest", body, Content_Encoding="gzip") for body in bodies])  # type: ignore[misc]


def _at_once(service: Attacked, body: bytes, agents: int, times: int) -> str:
    def post() -> tuple[int, bytes]:
        return [service.ask("/api/v1/ingest", body, Content_Encoding="gzip") for _ in range(times)][-1]

    return _counted([post] * agents)


def _counted(works: list[Callable[[], tuple[int, bytes]]]) -> str:
    answers: list[tuple[int, bytes]] = []
    threads = [threading.Thread(target=lambda work=work: answers.append(work())) for work in works]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return _by_status(status for status, _ in answers)


def _by_status(statuses: Iterator[int] | list[int]) -> str:
    return ", ".join(f"{count} × {status or 'nothing'}" for status, count in sorted(Counter(statuses).items()))


def bodies(service: Attacked) -> str:
    """Three hundred bodies of four megabytes without a token, whose last byte never comes."""
    return _sent_and_held(
        service, 300, lambda: _head("PATCH /api/v1/runs/x", 4 * 2**20) + b'"' + b"x" * (4 * 2**20 - 2)
    )


def permitted_bodies(service: Attacked) -> str:
    """The same with a token, as windows."""
    token = f"Authorization: Bearer {TOKEN}\r\n"
    return _sent_and_held(
        service, 300, lambda: _head("POST /api/v1/ingest", 4 * 2**20, token) + b'"' + b"x" * (4 * 2**20 - 2)
    )


def headers(service: Attacked) -> str:
    """A thousand requests whose headers never end."""
    return _sent_and_held(service, 1_000, lambda: b"GET /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: b")


def silence(service: Attacked) -> str:
    """Two thousand connections on which nothing is sent."""
    return _sent_and_held(service, 2_000, lambda: b"")


def deafness(service: Attacked) -> str:
    """Four hundred clients that ask for the list of a thousand runs eight times and read nothing."""
    return _unread(service, "/api/v1/runs?limit=1000", 8)


def deafness_once(service: Attacked) -> str:
    """The same, each asking once."""
    return _unread(service, "/api/v1/runs?limit=1000", 1)


def _unread(service: Attacked, path: str, times: int) -> str:
    _fill(service, 1_000)
    asked = _head(f"GET {path}", 0, f"Authorization: Bearer {TOKEN}\r\n") * times
    return _sent_and_held(service, 400, lambda: asked, receive_bytes=4_096)


def streams(service: Attacked) -> str:
    """Five hundred event streams that have missed everything, of a thousand runs."""
    _fill(service, 1_000)
    head = _head("GET /api/v1/events?topic=runs", 0, f"Authorization: Bearer {TOKEN}\r\nLast-Event-ID: 0\r\n")
    return _sent_and_held(service, 500, lambda: head)


def guesses(service: Attacked) -> str:
    """Wrong tokens over one connection, for ten seconds."""
    ends = time.monotonic() + 10
    statuses: list[int] = []
    with closing(HTTPConnection("127.0.0.1", service.port, timeout=LONGEST_S)) as connection:
        while time.monotonic() < ends:
            connection.request("GET", "/api/v1/runs", headers={"Authorization": f"Bearer guess-{len(statuses)}"})
            answer = connection.getresponse()
            answer.read()
            statuses.append(answer.status)
    return f"{statuses.count(401) / 10:.1f} guesses a second answered; {_by_status(statuses)}"


def _fill(service: Attacked, runs: int) -> None:
    with closing(HTTPConnection("127.0.0.1", service.port, timeout=LONGEST_S)) as connection:
        for number in range(runs):
            said = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
            connection.request("POST", "/api/v1/ingest", posted(made_window(0, run_id=f"run-{number}")), said)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200


def _nothing_for(seconds: float) -> list[tuple[selectors.SelectorKey, int]]:
    time.sleep(seconds)
    return []


def _no_longer_write(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    left = key.events & ~selectors.EVENT_WRITE
    if left:
        selector.modify(key.fileobj, left)
    else:
        selector.unregister(key.fileobj)


def _status(connection: socket.socket) -> int | None:
    """Raises:
    ConnectionResetError: the service has ended it.
    """
    said = connection.recv(2**16)
    if not said:
        raise ConnectionResetError
    return int(said[9:12]) if said.startswith(b"HTTP/1.1 ") else None


def _head(asked: str, length: int, more: str = "") -> bytes:
    size = f"Content-Type: application/json\r\nContent-Length: {length}\r\n" if length else ""
    return f"{asked} HTTP/1.1\r\nHost: 127.0.0.1\r\n{more}{size}\r\n".encode()


def _sent_and_held(
    service: Attacked, count: int, made: Callable[[], bytes], *, receive_bytes: int | None = None
) -> str:
    """Open the connections, send as much as is taken, hold them; what they were answered."""
    asked: dict[socket.socket, memoryview] = {}
    statuses: dict[int, int] = {}
    ended = 0
    selector = selectors.DefaultSelector()
    for _ in range(count):
        try:
            connection = service.connected()
        except OSError:
            ended += 1
            continue
        if receive_bytes is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        connection.setblocking(False)
        asked[connection] = memoryview(made())
        events = selectors.EVENT_WRITE if receive_bytes is not None else selectors.EVENT_WRITE | selectors.EVENT_READ
        selector.register(connection, events)
    held = len(asked)
    until = time.monotonic() + HELD_S
    while time.monotonic() < until:
        for key, ready in selector.select(0.2) if selector.get_map() else _nothing_for(0.2):
            connection = cast(socket.socket, key.fileobj)
            try:
                if ready & selectors.EVENT_WRITE and asked[connection]:
                    asked[connection] = asked[connection][connection.send(asked[connection][: 2**16]) :]
                if not asked[connection] and key.events & selectors.EVENT_WRITE:
                    _no_longer_write(selector, key)
                if ready & selectors.EVENT_READ and (status := _status(connection)):
                    statuses[connection.fileno()] = status
            except BlockingIOError:
                continue
            except OSError:
                ended += 1
                selector.unregister(connection)
                connection.close()
                asked.pop(connection)
    for connection in asked:
        with suppress(OSError):
            connection.close()
    selector.close()
    return f"{held} held, {ended} ended by the service; answered {_by_status(list(statuses.values())) or 'nothing'}"


ATTACKS: Mapping[str, Callable[[Attacked], str]] = {
    each.__name__: each
    for each in (
        zeros,
        largest,
        bombs,
        texts,
        bodies,
        permitted_bodies,
        headers,
        silence,
        deafness,
        deafness_once,
        streams,
        guesses,
    )
}


def tried(name: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place, attacked(Path(place)) as service:
        assert service.ask("/api/v1/runs")[0] == 200
        _, made = service.ask("/api/v1/tokens", b'{"name": "somebody else", "scopes": ["view"]}')
        before, waits = service.memory(), Waits(service, json.loads(made)["token"])
        begun = time.monotonic()
        with waits.measured():
            said = ATTACKS[name](service)
        took = time.monotonic() - begun
        most = service.memory("VmHWM")
        time.sleep(REST_S)
        figures = {"MB before": before, "MB at most": most, "MB after": service.memory()}
        return {"attack": name, "s": round(took, 1), **{k: round(v) for k, v in figures.items()},
                "waits": waits.said(), "said": said}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak.attacks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(ATTACKS)} (default: all)")
    names = parser.parse_args().names or list(ATTACKS)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for name in names:
        print(json.dumps(tried(name)), flush=True)
    return 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
