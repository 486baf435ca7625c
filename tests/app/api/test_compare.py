"""``/compare`` over HTTP."""

from __future__ import annotations

from functools import partial

import pytest
from fastapi.testclient import TestClient

from tests.app.made_windows import made_stream
from tests.app.store.posting import post, settle
from tests.fakes.looks import evenly
from underfed_server.diagnose import Diagnoser
from underfed_server.main import Application
from underfed_server.model import Comparison
from underfed_server.store.store import Store
from underfed_server.store.team.retention_policy import RetentionPolicy
from underfed_server.store.upkeep.retention import Retention
from underfed_server.store.writing.compact import compact
from underfed_server.store.writing.streams import StreamKey


def judge_three(store: Store) -> None:
    """Batch sizes as in the windows."""
    for seed, run_id in enumerate(("run-1", "run-2", "run-3")):
        post(store, made_stream(20, run_id=run_id, seed=seed))
        Diagnoser()(store, run_id)


@pytest.fixture(scope="module")
def shared_application(shared_application: Application) -> Application:
    judge_three(shared_application.parts.store)
    return shared_application


@pytest.fixture
def three(request: pytest.FixtureRequest, store: Store) -> Store:
    if not request.node.get_closest_marker("reads"):
        judge_three(store)
    return store


def ask(client: TestClient, *run_ids: str) -> Comparison:
    return Comparison.model_validate(client.get("/api/v1/compare", params={"run_id": list(run_ids)}).json())


@pytest.mark.usefixtures("three")
@pytest.mark.reads
def test_runs_are_compared_with_the_first(client: TestClient) -> None:
    found = ask(client, "run-2", "run-1", "run-3")
    assert [run.run.run_id for run in found.runs] == ["run-2", "run-1", "run-3"]
    assert found.runs[0].speed is None
    assert all(run.speed and run.speed.low <= run.speed.factor <= run.speed.high for run in found.runs[1:])
    assert all(run.anatomy and run.samples_per_s for run in found.runs)
    assert [one.name for one in found.settings if one.differs] == []


@pytest.mark.reads
def test_the_figures_are_those_of_the_verdict_where_the_steps_are(client: TestClient, three: Store) -> None:
    anatomy_of_run = ask(client, "run-1", "run-2").runs[0].anatomy
    verdict = three.diagnosis("run-1")
    assert anatomy_of_run and verdict and verdict.anatomy
    assert anatomy_of_run.data_wait_us == pytest.approx(verdict.anatomy.data_wait_us, rel=0.02)
    assert anatomy_of_run.step_us == pytest.approx(verdict.anatomy.step_us, rel=0.02)


def test_functions_are_compared_in_the_time_that_a_step_takes_to_load(client: TestClient, store: Store) -> None:
    for seed, run_id in enumerate(("run-1", "run-2")):
        windows = list(made_stream(20, run_id=run_id, seed=seed))
        stacks = [
            {"stage": "getitem", "frames": [0], "samples": evenly(300)},
            {"stage": "collate", "frames": [], "samples": evenly(100)},
        ]
        frames = [{"function": "Photos.__getitem__", "file": "data.py", "line": 41}]
        windows[-1] |= {"stacks": [{"loader": "train", "frames": frames, "stacks": stacks, "slow_samples": []}]}
        post(store, windows)
        Diagnoser()(store, run_id)
    [getitem] = ask(client, "run-1", "run-2").hotspots
    load_us = [float(store.batches(run_id, 0, "train", last=2_000).load_us.mean()) for run_id in ("run-1", "run-2")]
    assert getitem.total_fractions == [0.75, 0.75]
    assert getitem.total_us == pytest.approx([0.75 * each for each in load_us], rel=0.01)


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ([], 422, "invalid"),
        (["run-1"], 422, "invalid"),
        (["run-1", "run-1"], 422, "invalid"),
        (["run-1", "nobody"], 404, "not_found"),
        ([f"run-{number}" for number in range(9)], 422, "invalid"),
    ],
)
@pytest.mark.reads
def test_too_few_too_many_repeated_and_unknown_runs_are_refused(
    client: TestClient, asked: list[str], status: int, code: str
) -> None:
    answer = client.get("/api/v1/compare", params={"run_id": asked})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.json()["error"]["field"].startswith("run_id")


def test_a_run_that_was_not_judged_yet_has_a_reason_and_no_figure(client: TestClient, three: Store) -> None:
    post(three, made_stream(1, run_id="new"))
    found = ask(client, "run-1", "new")
    assert found.runs[1].why_not == "it has no verdict after 20 steps"
    assert (found.runs[1].anatomy, found.runs[1].speed) == (None, None)


def test_the_rank_that_a_verdict_is_of_is_the_one_compared(client: TestClient, store: Store) -> None:
    for rank in range(3):
        post(store, made_stream(20, rank=rank, seed=rank))
    post(store, made_stream(20, run_id="run-2"))
    for run_id in ("run-1", "run-2"):
        Diagnoser()(store, run_id)
    anatomy_of_run, verdict = ask(client, "run-1", "run-2").runs[0].anatomy, store.diagnosis("run-1")
    assert anatomy_of_run and verdict and verdict.anatomy
    assert anatomy_of_run.step_us == pytest.approx(verdict.anatomy.step_us, rel=0.02)


def test_steps_that_retention_deleted_are_the_reason(client: TestClient, store: Store) -> None:
    for run_id in ("run-1", "run-2"):
        windows = list(made_stream(20, run_id=run_id))
        windows[-1] |= {"end": {"status": "finished"}}
        post(store, windows)
        store.write(partial(compact, key=StreamKey(run_id, 0, 1)))
        Diagnoser()(store, run_id)
    settle(store)
    Retention(store, RetentionPolicy(retain_us=1)).delete_surplus()
    found = ask(client, "run-1", "run-2")
    assert found.sentence.endswith("cannot be compared: retention deleted its single steps.")
    assert [(run.speed, run.anatomy) for run in found.runs] == [(None, None)] * 2
