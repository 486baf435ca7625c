"""The benchmark of ingest posts what agents send, and says what it cannot measure here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import ingest
from benchmarks.ingest.made import GPUS, windows
from tests.app.made_windows import posted
from tests.fakes import postgresql
from underfed_server.ingest.decode import decode
from underfed_server.measurements import RECORDED
from underfed_server.store.columns.gather import lanes_of

WORKERS = 8
RECORDED_WINDOWS = Path(__file__).parents[1] / "contract/wire/v1/two_workers.json"
OF_PREFETCHER = {"h2d_us", "h2d_exposed_us"}


def test_what_is_posted_is_all_that_the_agent_of_a_host_sends() -> None:
    made = [decode(posted(each)) for each in windows("run", 60, WORKERS, 1, with_everything=True)]
    lanes = lanes_of(made)
    kinds = [lane.partition(":")[0] for lane in lanes]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "steps": 1, "batches": 1, "process": 1, "host": 1, "worker": WORKERS, "gpu": GPUS,
    }  # fmt: skip
    for lane, columns in lanes.items():
        missing = {name for name, column in columns.items() if np.isnan(column).all()}
        assert missing <= OF_PREFETCHER, lane
        assert columns.keys() == RECORDED[lane.partition(":")[0]].keys()


def test_its_windows_have_every_part_that_a_recorded_one_has() -> None:
    recorded = json.loads(RECORDED_WINDOWS.read_text())
    sent = {part for window in recorded for part, value in window.items() if value not in ([], None)}
    made = list(windows("run", 60, WORKERS, 1, with_everything=True))
    assert sent <= {part for window in made for part, value in window.items() if value not in ([], None)}


def test_where_postgresql_is_not_installed_the_output_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise RuntimeError("no server here")

    monkeypatch.setattr(postgresql, "programs", missing)
    monkeypatch.setattr(ingest, "CASES", {"on it": ingest.Case(None, on_postgresql=True)})
    ingest._print_load(1)
    assert "PostgreSQL's server is not installed here" in capsys.readouterr().out
