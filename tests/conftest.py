"""What holds for every test."""

from __future__ import annotations

import signal

import pytest

# A shell starts what runs in its background with SIGINT ignored, and so would be the jobs that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the tests marked soak, and no others")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is marked soak runs when it is asked for."""
    chosen = [item for item in items if (item.get_closest_marker("soak") is not None) == config.getoption("--soak")]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen
