"""What the demo says and does on a machine that is too busy for it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import torch
from rich.console import Console

from tests.app.made_diagnosis import made_diagnosis
from underfed_server.demo import command
from underfed_server.demo.train import LEAST_STEPS, steps_until
from underfed_server.model import Diagnosis
from underfed_server.terminal.client import Client


def test_a_job_whose_time_is_over_trains_for_as_many_steps_as_a_verdict_takes() -> None:
    batches = [(torch.zeros(1), torch.zeros(1))] * (2 * LEAST_STEPS)
    assert len(list(steps_until(float("-inf"), batches))) == LEAST_STEPS
    assert len(list(steps_until(float("inf"), batches))) == 2 * LEAST_STEPS


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        ("unknown", "Without a verdict there is nothing to try. Give it more time: underfed demo --seconds 30"),
        ("compute", "No change of the loader would help on this machine"),
    ],
)
def test_a_run_without_a_verdict_is_not_said_to_have_the_best_loader(
    bound: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found: Diagnosis = made_diagnosis(bound=bound, causes=[], advice=[])
    monkeypatch.setattr(command, "_train", lambda *_: found)
    shown = io.StringIO()
    client = Client("http://127.0.0.1:9", None)
    command._train_twice(command.Setup(tmp_path, client, Console(file=shown, width=200), seconds=10))
    assert said in shown.getvalue()
