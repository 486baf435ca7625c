"""Figures of data loading reach the loggers of frameworks, without a line where ``underfed run`` starts a training.

In ``make test`` each framework's own file asks so of the process that has imported it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.fakes.launching import run_under
from tests.fakes.service import Service, running_service
from tests.frameworks.tracked import FRAMEWORKS, require_figures, stored
from underfed.integrations import factory, scalars
from underfed.trainer import control

OURS = "underfed.integrations.lightning"


def tracked(which: str, tmp_path: Path, service: Service, **variables: str) -> list[dict[str, Any]]:
    """What the training's own logger or reporter stored."""
    if find_spec(which) is None:  # to import it here would take as long as in the training
        pytest.skip(f"{which} is not installed")
    logged = tmp_path / "logged"
    logged.mkdir()
    places = {"UNDERFED_URL": service.url, "UNDERFED_DIR": str(tmp_path), "UNDERFED_RINGS": str(tmp_path)}
    done = run_under(
        *("--", sys.executable, "-m", "tests.frameworks.tracked", which, str(logged)),
        variables={**places, "UNDERFED_STRICT": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", **variables},
    )
    assert done.returncode == 0, done.stderr
    return stored(which, logged)


@pytest.mark.soak
@pytest.mark.parametrize("which", FRAMEWORKS)
def test_figures_are_logged_below_underfed_run(which: str, tmp_path: Path) -> None:
    with running_service() as service:
        require_figures(tracked(which, tmp_path, service))


@pytest.mark.soak
def test_one_variable_switches_it_off(tmp_path: Path) -> None:
    with running_service() as service:
        rows = tracked("lightning", tmp_path, service, UNDERFED_TRACKERS="0")
        assert rows
        assert not any("underfed" in name for row in rows for name in row)


@pytest.fixture
def lightning(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A stand-in: to import Lightning takes seconds, and its own file asks what it does with a callback of ours."""
    stand_in: Any = ModuleType("pytorch_lightning")
    stand_in.Callback = type("Callback", (), {})
    monkeypatch.setitem(sys.modules, stand_in.__name__, stand_in)
    for imported in ("lightning.pytorch", OURS):
        monkeypatch.delitem(sys.modules, imported, raising=False)
    yield
    sys.modules.pop(OURS, None)


@pytest.mark.usefixtures("lightning")
def test_a_trainer_that_is_not_recorded_gets_no_callback(monkeypatch: pytest.MonkeyPatch) -> None:
    assert factory.callbacks() == []
    monkeypatch.setattr(control._state, "watches_all", True)
    assert [type(each).__name__ for each in factory.callbacks()] == ["UnderfedCallback"]
    with monkeypatch.context() as switched_off:
        switched_off.setitem(os.environ, "UNDERFED_TRACKERS", "0")
        assert factory.callbacks() == []
    monkeypatch.setitem(os.environ, "UNDERFED_DISABLED", "1")
    assert factory.callbacks() == []


@pytest.mark.usefixtures("lightning")
def test_lightnings_loggers_receive_the_verdict_or_why_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from underfed.integrations.lightning import UnderfedCallback

    for name in ("logs_by_callback", "logs_words"):
        monkeypatch.setattr(control._state, name, False)
    last_words = {"page": "http://host:7077/runs/r", "bound": "not judged: 12 of 25 steps"}
    monkeypatch.setattr(control, "last_words", lambda: last_words)
    callback = UnderfedCallback()
    summary: dict[str, str] = {}
    tags: dict[tuple[str, str], str] = {}
    wandb = SimpleNamespace(experiment=SimpleNamespace(summary=summary))
    client = SimpleNamespace(set_tag=lambda run_id, name, word: tags.update({(run_id, name): word}))
    loggers = [wandb, SimpleNamespace(experiment=client, run_id="m1"), SimpleNamespace(experiment=object())]
    callback.on_fit_end(SimpleNamespace(is_global_zero=True, callbacks=[callback], loggers=loggers))
    assert summary == {f"underfed/{name}": word for name, word in last_words.items()}
    assert tags == {("m1", f"underfed.{name}"): word for name, word in last_words.items()}
    assert control._state.logs_by_callback and control._state.logs_words


def test_what_fails_is_counted_and_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERFED_STRICT", "0")
    guard = SimpleNamespace(failed=lambda where, error: seen.append((where, type(error))))
    seen: list[Any] = []
    monkeypatch.setattr(control, "guard", lambda: guard)
    figures: dict[str, None] = {}
    scalars.unharmed(lambda: figures["no such logger"])
    assert seen == [("tracker", KeyError)]
