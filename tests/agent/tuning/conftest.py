"""What tests of tuning share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import underfed
from underfed.trainer import control
from underfed.trainer.tuning import conductor


@pytest.fixture(autouse=True)
def no_tuner_left() -> Iterator[None]:
    yield
    underfed.finish()
    control._state.tuner = None


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is waited for, and blocks have as few steps as they may."""
    for name in ("PATIENCE_NS", "LOOK_NS", "BLOCK_NS"):
        monkeypatch.setattr(conductor, name, 0)
