"""What loading executes is looked up for runs that wait for data, and seldom."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.made_windows import made_window
from tests.app.store.posting import post
from tests.app.test_diagnose import EARLY, LOAD_MS, WORK_MS, judged, record
from tests.fakes.looks import evenly
from underfed_server import diagnose
from underfed_server.diagnose import Diagnoser, LoaderDiagnoses
from underfed_server.facts.hotspots import read_hotspots
from underfed_server.model import Diagnosis, Sampled
from underfed_server.store.store import Store


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs whose stacks were read; of one whose training thread is asked about, with that."""
    runs: list[str] = []

    def counted(store: Store, run_id: str, loader: str | None, *, of: Sampled = "loading") -> Any:
        runs.append(run_id if of == "loading" else f"{run_id}: {of}")
        return read_hotspots(store, run_id, loader, of=of)

    monkeypatch.setattr(diagnose, "read_hotspots", counted)
    return runs


def seen(index: int, samples: int) -> dict[str, Any]:
    frames = [
        {"function": "Photos.__getitem__", "file": "data.py", "line": 41, "is_own": True},
        {"function": "Image.resize", "file": "PIL/Image.py", "line": 2440},
    ]
    stacks = [{"stage": "getitem", "frames": [0, 1], "samples": evenly(samples)}]
    part = {"loader": "train", "frames": frames, "stacks": stacks, "slow_samples": []}
    return made_window(index, run_id="run", started_at=EARLY, start_us=100_000_000, end_us=100_000_001, stacks=[part])


def named(diagnosis: Diagnosis) -> list[str]:
    return [
        each.what for cause in diagnosis.causes for each in cause.evidence if each.what.startswith("Of loading, in")
    ]


def test_a_run_that_does_not_wait_is_not_asked_what_its_loading_executes(store: Store, read: list[str]) -> None:
    record(store, "run", range(10), num_workers=2, wait_ms=0, started_at=EARLY)
    post(store, [seen(10, 400)])
    assert judged(store, Diagnoser(), "run").bound == "compute"
    assert read == ["run: step"], "its training thread may have been sampled"


def test_what_the_program_does_between_batches_is_said_of_a_profiled_run_that_waits(
    store: Store, read: list[str]
) -> None:
    record(store, "run", range(10), num_workers=2, wait_ms=LOAD_MS // 2, started_at=EARLY)
    window = seen(10, 400)
    (part,) = window["stacks"]
    part["frames"].append({"function": "print", "file": "data.py", "line": 41})
    part["stacks"].append({"stage": "step", "frames": [0, 2], "samples": evenly(400)})
    post(store, [window])
    assert "100% found it logging, most often in print at data.py:41" in (judged(store, Diagnoser(), "run").why or "")
    assert read == ["run", "run: step"]


def test_one_that_waits_is_asked_again_when_it_has_grown_by_a_quarter(store: Store, read: list[str]) -> None:
    judge = Diagnoser()
    for windows in (range(8), range(8, 9), range(9, 10)):
        record(store, "run", windows, num_workers=2, wait_ms=LOAD_MS // 2, started_at=EARLY)
        assert judged(store, judge, "run").bound == "data"
    assert read == ["run"] * 2


def test_the_line_is_in_the_evidence_of_the_run_and_of_the_loader(store: Store, read: list[str]) -> None:
    record(store, "run", range(10), num_workers=1, wait_ms=LOAD_MS - WORK_MS, started_at=EARLY)
    post(store, [seen(10, 400)])
    line = "Of loading, in Image.resize at data.py:41, in Photos.__getitem__"
    run = judged(store, Diagnoser(), "run")
    assert named(run) == [line]
    assert [one.diff_file for one in run.advice if one.change == "cheaper_transform"] == ["data.py:41"]
    assert named(LoaderDiagnoses().read(store, "run", "train")) == [line]
    assert read == ["run", "run"]
