"""The outlook of a running run, and when there is none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.made_diagnosis import made_advice
from underfed_server.advice.outlook import outlook
from underfed_server.api.served_diagnosis import unjudged
from underfed_server.model import Advice, Diagnosis, LoaderLine, Outlook, Run

EMPTY = dict.fromkeys(Run.model_fields, None) | {"is_final": False, "pods": []}
LOADER = {"loader": "train", "settings": {}, "batches_per_epoch": 500, "not_measured": {}}
"""Of 500 batches."""


def run(**changes: Any) -> Run:
    """Two ranks at step 7,000 of a run that does not say how far it goes."""
    loader = dict.fromkeys(
        ["dataset_type", "dataset_kind", "dataset_length", "sampler_type", "collate_type", "transforms", "watched_at",
         "batch_tensors", "batch_bytes", "shards", "why_unsharded", "compared_batches", "repeated_batches"]
    )  # fmt: skip
    losses = dict.fromkeys(
        ["dropped_steps", "dropped_batches", "dropped_windows", "rejected_windows", "agent_errors"], 0
    )
    known: dict[str, Any] = EMPTY | {
        "run_id": "r", "project": "p", "name": "r", "job": "p/r", "tags": {}, "status": "running", "bound": "data",
        "level": "bound", "steps": 7_000, "spark": [], "world_size": 2, "hostnames": ["h"], "user": "mira",
        "started_at": "2026-11-21T10:00:00Z", "last_seen_at": "2026-11-21T11:00:00Z", "command": ["python", "train.py"],
        "config": {}, "overrides": {}, "ranks": [0, 1], "loaders": [loader | LOADER], "hosts": [], "devices": [],
        "epochs": [], "storage": [], "trackers": [], "died_workers": [],
        "losses": losses, "not_measured": {}, "notes": "",
    }  # fmt: skip
    return Run.model_validate(known | changes)


def verdict(**changes: Any) -> Diagnosis:
    """Two of ten parts of each step are waits, at five steps a second."""
    figures = {"bound": "data", "level": "bound", "loader": "train", "data_stall_fraction": 0.2, "steps_per_s": 5.0}
    return unjudged(run()).model_copy(update=figures | changes)


def outlook_of(**changes: Any) -> Outlook:
    found = outlook(run(**changes), verdict())
    assert found is not None
    return found


def test_epochs_that_the_config_names_give_the_last_step_and_what_will_be_lost_until_it() -> None:
    found = outlook_of(config={"epochs": 90})
    assert (found.last_step, found.basis) == (
        45_000,
        "90 epochs, as epochs=90 in the run's config says, of 500 steps each",
    )
    assert found.hours_to_lose == pytest.approx(38_000 / 5 * 0.2 * 2 / 3_600)
    assert found.hours_lost_per_hour == pytest.approx(0.4)


def test_a_run_that_reported_no_command_says_nothing_of_its_length() -> None:
    assert outlook_of(command=[]).last_step is None


@pytest.mark.parametrize(
    "words",
    [["--epochs=90"], ["--epochs", "90"], ["--max-epochs=90"], ["trainer.max_epochs=90"], ["--num_epochs", "90"]],
)
def test_epochs_are_read_from_the_command_too(words: list[str]) -> None:
    assert outlook_of(command=["python", "train.py", *words]).last_step == 45_000


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"config": {"epochs": 10}},
        {"config": {"epochs": True}},
        {"config": {"epochs": 90, "resume": "last.pt"}},
        {"command": ["python", "train.py", "--epochs", "90", "--resume"]},
        {"config": {"epochs": 90}, "restart_count": 1},
        {"config": {"epochs": 90}, "loaders": []},
    ],
)
def test_a_length_that_is_not_known_or_cannot_be_right_is_not_said(changes: dict[str, Any]) -> None:
    found = outlook_of(**changes)
    assert (found.last_step, found.hours_to_lose, found.saved_s) == (None, None, None)
    assert found.hours_lost_per_hour == pytest.approx(0.4)


def test_epochs_that_ended_count_more_than_what_the_loader_promised() -> None:
    epoch = {
        "rank": 0, "loader": "train", "epoch_index": 0, "start_us": 0, "iterator_us": None, "startup_us": None,
        "sampler_us": None, "first_step_index": 0, "steps": 200, "end_us": 1, "ended": "broken_off",
    }  # fmt: skip
    assert outlook_of(config={"epochs": 90}, epochs=[epoch]).last_step == 18_000


def test_what_is_saved_is_by_the_first_fix_with_its_ends() -> None:
    to_try = Advice.model_validate(dict(made_advice(1.9)) | {"low": 0.9, "high": 2.4})
    promised = Advice.model_validate(dict(made_advice(1.2)) | {"low": 1.1, "high": 1.6})
    found = outlook(run(config={"epochs": 90}), verdict(advice=[promised, to_try]))
    assert found is not None
    assert found.left_s == 38_000 / 5
    assert found.saved_fraction == pytest.approx(1 - 1 / 1.2)
    assert found.saved_low_fraction == pytest.approx(1 - 1 / 1.1)
    assert found.saved_high_fraction == 0.2, "no more than is waited for"
    first_to_try = outlook(run(), verdict(advice=[to_try, promised]))
    assert first_to_try is not None
    assert first_to_try.saved_fraction is None


def test_nothing_is_said_of_a_run_that_ended_or_was_not_judged() -> None:
    assert outlook(run(status="finished"), verdict()) is None
    assert outlook(run(), None) is None
    assert outlook(run(), unjudged(run())) is None


def test_the_pace_of_a_validation_says_nothing_of_the_training() -> None:
    line = {
        "bound": "data",
        "level": "bound",
        "data_stall_fraction": 0.9,
        "hours_lost": 1.0,
        "share_of_run_fraction": 0.4,
        "steps": 40,
    }
    lines = [LoaderLine.model_validate({"loader": name, "role": role, **line})
             for name, role in (("train", "train"), ("val", "validation"))]  # fmt: skip
    assert outlook(run(), verdict(loaders=lines, loader="val")) is None
    assert outlook(run(), verdict(loaders=lines, loader="train")) is not None
