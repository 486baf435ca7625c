"""Event streams have the permission of the token that opened them: only its runs, and only as long as it is valid."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.app.api.visitors import ROOT, bearer, make_token, visitor
from tests.app.made_windows import RUN, made_window
from tests.app.serving import application_in, serving, settings_for
from tests.app.store.posting import post
from underfed_server.main import Application


@pytest.fixture
def application(tmp_path: Path, database_url: str) -> Iterator[Application]:
    yield application_in(tmp_path, token=ROOT, database_url=database_url)


@pytest.fixture
def address(application: Application, tmp_path: Path) -> Iterator[str]:
    with serving(application, settings_for(tmp_path)) as served:
        yield served


@contextmanager
def watching(address: str, headers: dict[str, str]) -> Iterator[http.client.HTTPResponse]:
    """An open stream of all runs, of which the first comment was read."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=20)
    try:
        connection.request("GET", "/api/v1/events?topic=runs", headers=headers)
        answer = connection.getresponse()
        assert answer.status == 200
        assert answer.readline() == b": open\n"
        yield answer
    finally:
        connection.close()


def next_run(stream: http.client.HTTPResponse) -> str:
    """The run of the next event."""
    while line := stream.readline():
        if line.startswith(b"data: "):
            return str(json.loads(line[6:])["run"]["run_id"])
    raise AssertionError("the stream ended")


def seconds_until_a_stream_ends_with_its_token(application: Application, address: str) -> float:
    made = make_token(application, "view")
    with watching(address, bearer(made["token"])) as stream:
        revoked_at = time.monotonic()
        visitor(application, ROOT).delete(f"/api/v1/tokens/{made['token_id']}")
        stream.read()
        return time.monotonic() - revoked_at


def test_a_stream_ends_with_its_token(application: Application, address: str) -> None:
    seconds_until_a_stream_ends_with_its_token(application, address)


@pytest.mark.soak
def test_a_stream_ends_within_a_second_of_its_token(application: Application, address: str) -> None:
    assert seconds_until_a_stream_ends_with_its_token(application, address) < 1.5


def test_a_stream_ends_when_its_browser_signs_out(application: Application, address: str) -> None:
    browser = visitor(application)
    browser.post("/api/v1/session", json={"token": ROOT})
    cookie = {"Cookie": f"underfed_session={browser.cookies['underfed_session']}"}
    with watching(address, cookie) as stream, watching(address, bearer(ROOT)) as other:
        browser.delete("/api/v1/session")
        stream.read()
        post(application.parts.store, [made_window(0)])
        assert next_run(other) == "run-1"


def test_a_stream_of_a_projects_token_reports_its_runs_alone(application: Application, address: str) -> None:
    made = make_token(application, "view", project="vision")
    with watching(address, bearer(made["token"])) as stream, watching(address, bearer(ROOT)) as whole:
        post(application.parts.store, [made_window(0, run_id="hidden", run={**RUN, "project": "speech"})])
        assert next_run(whole) == "hidden"
        post(application.parts.store, [made_window(0, run_id="own")])
        assert next_run(stream) == "own"
