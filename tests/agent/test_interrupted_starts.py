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
from tests.agent.test_signal_handlers import consume, interrupted
from tests.fakes.service import Service, wait_until
from underfed.errors import ConfigError
from underfed.trainer import control
from underfed.trainer.control import TRIES

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
