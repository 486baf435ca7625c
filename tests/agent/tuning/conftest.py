"""What tests of tuning share."""

from __future__ import annotations

import pytest

from underfed.trainer.tuning import conductor


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is waited for, and blocks have as few steps as they may."""
    for name in ("PATIENCE_NS", "LOOK_NS", "BLOCK_NS"):
        monkeypatch.setattr(conductor, name, 0)
