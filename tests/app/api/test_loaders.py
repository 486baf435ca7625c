"""``/runs/{run_id}/diagnosis?loader=``: the diagnosis of a loader that the verdict on its run is not about."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.app.made_loops import Thread, zipped
from tests.app.store.posting import post, settle
from underfed_server import diagnose
from underfed_server.advice.advise import Recommendation
from underfed_server.diagnose import Diagnoser
from underfed_server.model import Diagnosis
from underfed_server.store.store import Store
from underfed_server.store.team.retention_policy import RetentionPolicy
from underfed_server.store.upkeep.retention import Retention


def asked(client: TestClient, loader: str) -> Diagnosis:
    answer = client.get("/api/v1/runs/run-1/diagnosis", params={"loader": loader})
    assert answer.status_code == 200, answer.text
    return Diagnosis.model_validate(answer.json())


@pytest.fixture
def thread(store: Store) -> Thread:
    thread = Thread(train=2, val=0)
    for _ in range(3):
        thread.run_through("train", 60, 1, 49)
        thread.run_through("val", 20, 90, 10)
    window = thread.window()
    window["loaders"].append({"loader": "never", "settings": {"num_workers": 1}})
    post(store, [window])
    Diagnoser()(store, "run-1")
    return thread


def test_each_loader_has_a_whole_diagnosis(client: TestClient, thread: Thread) -> None:
    default = Diagnosis.model_validate(client.get("/api/v1/runs/run-1/diagnosis").json())
    assert default.loader == "val"
    assert asked(client, "val") == default
    train = asked(client, "train")
    assert (train.loader, train.bound, train.level, train.steps) == ("train", "compute", "healthy", 180)
    assert train.sentence == "The training loop is kept busy: 2.0% of a step is spent waiting for data."
    assert train.loaders == default.loaders
    assert train.hours_lost == pytest.approx(180 * 0.001 / 3600)
    assert train.judged_at is not None
    never = asked(client, "never")
    assert (never.loader, never.bound, never.steps) == ("never", "unknown", 0)


def test_of_zipped_loaders_the_one_that_is_ahead_is_not_to_blame(client: TestClient, store: Store) -> None:
    thread = Thread(ahead=2, starving=0)
    zipped(thread, 60, work=33, ahead=7, starving=60)
    post(store, [thread.window()])
    Diagnoser()(store, "run-1")
    ahead = asked(client, "ahead")
    assert (ahead.bound, ahead.level, ahead.advice) == ("compute", "watch", [])
    assert ahead.sentence == "The training loop waits for data 67% of every step: 7.0% for ahead, 60% for starving."
    assert ahead.why == "The loop waits for its other loaders; this one is ready in time."


def test_a_loader_that_the_run_has_not_got_is_not_found(client: TestClient, thread: Thread) -> None:
    answer = client.get("/api/v1/runs/run-1/diagnosis", params={"loader": "nobody"})
    assert answer.status_code == 404
    error = answer.json()["error"]
    assert (error["code"], error["field"]) == ("not_found", "loader")
    assert client.get("/api/v1/runs/other/diagnosis", params={"loader": "train"}).status_code == 404


def test_it_is_computed_again_when_its_loader_has_more_steps(
    client: TestClient, store: Store, thread: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    advised: list[str] = []

    def counted(facts: Any, *_: Any) -> Any:
        advised.append(facts.loader.loader)
        return Recommendation()

    monkeypatch.setattr(diagnose, "advise", counted)
    for _ in range(2):
        assert asked(client, "train").steps == 180
    assert advised == ["train"]
    zipped(thread, 10, work=5, train=1)
    post(store, [thread.window()])
    assert asked(client, "train").steps == 190
    post(store, [thread.window(end={"status": "finished"})])
    assert asked(client, "train").status == "finished"
    assert advised == ["train"] * 3


def test_where_retention_deleted_its_steps_that_is_the_reason(client: TestClient, store: Store, thread: Thread) -> None:
    post(store, [thread.window(end={"status": "finished"})])
    settle(store)
    Retention(store, RetentionPolicy(retain_us=1)).delete_surplus()
    assert asked(client, "train").reason == "retention deleted its single steps"


def test_the_kept_ones_are_bounded(store: Store, thread: Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnose, "MOST_KEPT", 1)
    diagnoses = diagnose.LoaderDiagnoses()
    for loader in ("train", "never", "train"):
        assert diagnoses.read(store, "run-1", loader).loader == loader
    assert len(diagnoses._kept) == 1
