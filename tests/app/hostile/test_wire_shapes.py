"""Windows of unreasonable shapes are taken or refused in our words; for ten minutes of them, and of all else that the
API describes, the service neither fails nor hangs nor grows.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from tests.app.hostile.conftest import TOKEN, Victim
from tests.app.hostile.fuzzing import Found, Growth, ask_everything, post_shapes
from tests.app.operations.asking import lines_of
from tests.app.operations.running import running
from tests.fakes.environment import clean_environment

FEW = 60
SECONDS = float(os.environ.get("UNDERFED_FUZZ_S", "600"))
MOST_MB = 450
"""Resident, of a process that begins with 105: what a judgement, the largest windows under way and caches take."""

MOST_FILES, MOST_THREADS = 120, 80
IN_OUR_WORDS = {200, 400, 401, 403, 409, 413, 415, 422, 429, 503}


@pytest.mark.parametrize("token", [TOKEN, None])
def test_a_window_of_any_shape_is_taken_or_refused(victim: Victim, token: str | None) -> None:
    found = post_shapes(victim.address, seed=1, count=FEW, token=token)
    assert found.failures == []
    assert found.requests == FEW
    assert set(found.statuses) <= IN_OUR_WORDS
    assert found.statuses[200 if token else 401] > FEW // 10
    assert [line for line in lines_of(victim.log) if line["level"] == "error"] == []
    stored = ["/api/v1/runs/fuzz-0"] if token else []
    for path in ("/api/v1/runs", *stored, "/api/v1/team", "/api/v1/hosts", "/metrics", "/readyz"):
        assert victim.ask(path).status == 200, path


@pytest.mark.soak
@pytest.mark.timeout(SECONDS + 1_200)
def test_for_ten_minutes_nothing_fails_hangs_or_grows(tmp_path: Path) -> None:
    """Schemathesis with and without a token in turn, beside four agents that post windows of every shape."""
    directory = tmp_path / "fuzzed"
    directory.mkdir()
    environment = clean_environment(UNDERFED_TOKEN=TOKEN, UNDERFED_DIR=str(directory))
    arguments = ("--requests-per-s", "0", "--bytes-per-s", "0", "--log-level", "error")
    with running(directory, *arguments, environment=environment) as service, Growth(service.process.pid) as grown:
        ends_at = time.monotonic() + SECONDS
        posted: list[Found] = []
        agents = [
            threading.Thread(target=lambda seed=seed: posted.append(_agent(service.address, seed, ends_at)))
            for seed in range(4)
        ]
        for each in agents:
            each.start()
        asked, reds = _ask_in_turn(service.address, tmp_path, ends_at)
        for each in agents:
            each.join()
        statuses = sum((each.statuses for each in posted), Counter[int]())
        print(f"{SECONDS / 60:.0f} minutes: {statuses.total()} windows {dict(statuses)}, {asked} rounds of the API")
        print(f"MB {grown.rss_mb[0]:.0f} to at most {max(grown.rss_mb):.0f}, {grown.rss_mb[-1]:.0f} at the end; "
              f"files at most {max(grown.files)}, threads {max(grown.threads)}")  # fmt: skip
        assert [failure for each in posted for failure in each.failures] == []
        assert reds == []
        assert service.process.poll() is None
        assert max(grown.rss_mb) < MOST_MB
        assert max(grown.files) < MOST_FILES
        assert max(grown.threads) < MOST_THREADS
        assert psutil.Process(service.process.pid).num_fds() < MOST_FILES
    assert [line for line in lines_of(service.log) if line["level"] == "error"] == []


def _agent(address: str, seed: int, ends_at: float) -> Found:
    """One of the four has no token."""
    return post_shapes(address, seed, 10**9, TOKEN if seed else None, ends_at)


def _ask_in_turn(address: str, directory: Path, ends_at: float) -> tuple[int, list[str]]:
    reds, rounds = [], 0
    while time.monotonic() < ends_at:
        token = TOKEN if rounds % 2 == 0 else None
        done = ask_everything(address, directory, seed=rounds, examples=25, token=token)
        if done.returncode:
            reds.append(done.stdout)
        rounds += 1
    return rounds, reds
