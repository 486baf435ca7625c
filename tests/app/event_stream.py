"""A client of the event stream, like a page."""

from __future__ import annotations

import http.client
import json
from urllib.parse import urlsplit

from underfed_server.model import RunEvent


class Stream:
    """A client of ``/events``, as a browser's EventSource reads it."""

    def __init__(self, address: str, query: str, **headers: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=20)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request("GET", f"/api/v1/events?{query}", headers=named)
        self.response = self._connection.getresponse()

    def line(self) -> str:
        return self.response.readline().decode().rstrip("\n")

    def event(self) -> tuple[str, RunEvent]:
        """The next one with its id; comments are passed over."""
        number = ""
        while True:
            line = self.line()
            if line.startswith("id: "):
                number = line[4:]
            if line.startswith("data: "):
                return number, RunEvent.model_validate(json.loads(line[6:]))

    def close(self) -> None:
        self._connection.close()
