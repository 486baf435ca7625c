"""Starts an installed service and asks it for its page."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.app.listening import free_port

LONGEST_S = 300


def assert_it_serves(command: list[str], place: Path, variables: dict[str, str]) -> None:
    port = free_port()
    settings = {**os.environ, **variables, "UNDERFED_DIR": str(place / "data")}
    served = subprocess.Popen([*command, "serve", "--port", str(port)], cwd=place, env=settings, start_new_session=True)
    try:
        assert_it_is_ready(port, served)
    finally:
        os.killpg(served.pid, signal.SIGTERM)
        served.wait(60)


def assert_it_is_ready(port: int, served: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + LONGEST_S
    while time.monotonic() < end and served.poll() is None:
        try:
            with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
                assert answer.status == 200
            with urlopen(f"http://127.0.0.1:{port}/", timeout=5) as page:
                assert b"<script" in page.read()
        except URLError:
            time.sleep(0.5)
        else:
            return
    pytest.fail(f"it did not serve: {served.poll()}")
