"""The benchmarks of a service ask for what pages ask for."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from benchmarks.live_runs import GOALS_MS
from benchmarks.service.pages import addresses
from tests.app.made_windows import made_stream, posted_window
from underfed_server.main import create_app
from underfed_server.settings import Settings


def test_every_address_that_is_asked_is_one_and_has_a_goal(tmp_path: Path) -> None:
    application = create_app(Settings("127.0.0.1", 0, f"sqlite:///{tmp_path}/underfed.db"))
    try:
        for window in made_stream(20):
            application.parts.store.submit(posted_window(window)).result(timeout=30)
        client, asked = TestClient(application, base_url="http://127.0.0.1:7077"), addresses("run-1")
        assert {page: client.get(path).status_code for page, path in asked.items()} == dict.fromkeys(asked, 200)
    finally:
        application.close()
    assert asked.keys() == GOALS_MS.keys()
