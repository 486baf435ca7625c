"""Asks a running service as monitoring, agents and people do."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

from tests.app.made_windows import posted

JSON = {"Content-Type": "application/json"}


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
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    try:
        connection.request("GET" if body is None else "POST", path, body=body, headers={**JSON, **(headers or {})})
        answer = connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, named, answer.read())
    finally:
        connection.close()


def send(address: str, window: dict[str, Any]) -> Answer:
    return ask(address, "/api/v1/ingest", posted(window))


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
