"""Requests to a running service, as from monitoring, agents and people."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

from tests.app.made_windows import posted

INGEST = "/api/v1/ingest"
JSON = {"Content-Type": "application/json"}
Window = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


def ask(address: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
    with closing(connected(address)) as connection:
        return asked(connection, path, body, headers)


def send(address: str, window: Window) -> Answer:
    return ask(address, INGEST, posted(window))


def pour(address: str, windows: Iterable[Window]) -> tuple[int, Window, Answer]:
    """Post them over one connection until one is refused: how many were not, the last one, and the answer to it."""
    with closing(connected(address)) as connection:
        for taken, window in enumerate(windows):
            answer = asked(connection, INGEST, posted(window))
            if answer.status != 200:
                return taken, window, answer
        return taken + 1, window, answer


def connected(address: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)


def asked(
    connection: http.client.HTTPConnection, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> Answer:
    connection.request("GET" if body is None else "POST", path, body=body, headers={**JSON, **(headers or {})})
    answer = connection.getresponse()
    named = {name.lower(): value for name, value in answer.getheaders()}
    return Answer(answer.status, named, answer.read())


Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]


def scraped(address: str, headers: dict[str, str] | None = None) -> Samples:
    """Every sample of ``/metrics``, by name and labels."""
    answer = ask(address, "/metrics", headers=headers)
    assert answer.status == 200, answer.body
    found: Samples = {}
    for family in text_string_to_metric_families(answer.body.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


def lines_of(log: Path) -> list[dict[str, Any]]:
    """The log's lines; each must be JSON by itself."""
    return [json.loads(line) for line in log.read_text().splitlines()]
