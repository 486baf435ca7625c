"""A signal handler that raises while the first iterator begins the recording: one run all the same, and it trains."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader

import underfed
from tests.agent.test_signal_handlers import Handler, consume, interrupted
from tests.fakes.service import Service, wait_until
from tests.fakes.traces import patched_attributes
from underfed.errors import ConfigError
from underfed.exchange import launch
from underfed.trainer import control, recording
from underfed.trainer.control import TRIES
from underfed.trainer.hooks.install import Hooks
from underfed.trainer.hooks.watched_loader import WatchedLoader

EIGHT: Any = range(8)


@pytest.fixture(autouse=True)
def own_run_ids(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A run that is begun again has another id, as in use."""
    monkeypatch.delenv("UNDERFED_RUN_ID")
    monkeypatch.setenv("UNDERFED_STRICT", "0")
    before = signal.getsignal(signal.SIGUSR1)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.fixture
def loader() -> Any:
    control.watch_all()
    return DataLoader(EIGHT, batch_size=4)


def rank_directories() -> list[Path]:
    return sorted(Path(os.environ["UNDERFED_RINGS"]).glob("*/*/rank-*"))


@pytest.mark.parametrize("first", range(0, 500, 100))
def test_one_training_is_one_run_however_often_its_start_is_interrupted(
    service: Service, loader: Any, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "TRIES", -1)  # none is let through unrecorded
    places = [interrupted(at, lambda: consume(loader), TimeoutError)[0] for at in range(first, first + 100, 9)]
    assert None not in places
    consume(loader)
    assert len(rank_directories()) == 1
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    assert len({window["run_id"] for window in service.windows}) == 1
    assert service.count_steps() >= 2


def test_one_that_is_interrupted_again_and_again_has_its_batches(
    service: Service, loader: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each time as far into our code."""
    for _ in range(TRIES):
        assert interrupted(60, lambda: next(iter(loader)), TimeoutError)[0] is not None
    seen: list[Any] = []
    assert interrupted(60, lambda: seen.extend(loader), TimeoutError)[0] is None
    assert [batch.tolist() for batch in seen] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    # Nothing interrupts the next one.
    consume(loader)
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    assert service.count_steps() == 2
    assert capsys.readouterr().err.count("3 times in a row: the next one is not recorded") == 1


def test_init_may_be_called_again_where_it_was_interrupted(service: Service) -> None:
    def begin() -> None:
        underfed.init(name="again")

    assert interrupted(300, begin, TimeoutError)[0] is not None
    begin()
    assert len(rank_directories()) == 1
    with pytest.raises(ConfigError, match="a run has begun"):
        begin()
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    assert {window["run"]["name"] for window in service.windows if "run" in window} == {"again"}


@pytest.mark.parametrize("how", ["iterate", "watch"])
def test_what_was_interrupted_before_it_had_its_facts_reports_them(
    loader: Any, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loader is numbered by then."""
    monkeypatch.setattr(control._state, "watches_all", how == "iterate")
    signal.signal(signal.SIGUSR1, Handler(TimeoutError).plain)
    with monkeypatch.context() as patched, pytest.raises(TimeoutError, match="handled"):
        patched.setattr(WatchedLoader, "report", lambda *_: signal.raise_signal(signal.SIGUSR1))
        consume(loader if how == "iterate" else underfed.watch(loader))
    consume(loader)
    (rank,) = rank_directories()
    assert (rank / "loader-0.json").exists()


def test_a_lock_that_was_left_held_does_not_keep_its_own_thread_waiting(loader: Any) -> None:
    """Python 3.10 may run a handler between a block and the release of its lock."""
    consume(loader)
    assert control._state.recording is not None
    control._state.recording.registry._lock.acquire()
    assert [batch.tolist() for batch in DataLoader(EIGHT, batch_size=4)] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_hooks_whose_installation_was_interrupted_are_all_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    real, called = Hooks._splice, []

    def third(*arguments: Any) -> None:
        called.append(arguments)
        if len(called) == 3:
            raise TimeoutError("handled")
        real(*arguments)

    hooks = control._installed_hooks()
    hooks.remove()
    monkeypatch.setattr(Hooks, "_splice", third)
    with pytest.raises(TimeoutError, match="handled"):
        hooks.install()
    assert (hooks.is_installed, patched_attributes()) == (False, [])
    hooks.install()
    assert hooks.is_installed
    assert "_BaseDataLoaderIter.__next__" in patched_attributes()


def test_a_launcher_learns_of_a_recording_whose_start_is_interrupted(
    loader: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It would record another run, of a command that used no loader."""
    monkeypatch.setenv(launch.LAUNCH, str(tmp_path))
    signal.signal(signal.SIGUSR1, Handler(TimeoutError).plain)
    with monkeypatch.context() as patched, pytest.raises(TimeoutError, match="handled"):
        patched.setattr(recording, "start_collector", lambda *_: signal.raise_signal(signal.SIGUSR1))
        consume(loader)
    assert control._state.recording is not None
    assert launch.read_reports(tmp_path)[launch.RECORDING] == [control._state.recording.run_id]
    consume(loader)
