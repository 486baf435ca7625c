"""Tests that need a CUDA device (or ROCm's). Where there is none they are deselected, and a line says so."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.agent.conftest import any_service, guest, run_id, service
from tests.gpu.gpu import Gpu

__all__ = ["any_service", "guest", "run_id", "service"]

HERE = Path(__file__).parent
DESELECTED = pytest.StashKey[int]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.soak(passes=2, of=3))
    if not ours or torch.cuda.is_available():
        return
    config.stash[DESELECTED] = len(ours)
    items[:] = [item for item in items if item not in ours]
    config.hook.pytest_deselected(items=ours)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    deselected = config.stash.get(DESELECTED, 0)
    if deselected:
        terminalreporter.write_line(f"tests/gpu: {deselected} tests have NOT run, PyTorch finds no CUDA device here")


@pytest.fixture(scope="session")
def gpu() -> Gpu:
    return Gpu()
