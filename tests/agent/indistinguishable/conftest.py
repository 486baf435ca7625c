"""The comparison's own assert tells what differs, as those in the tests do."""

import pytest

pytest.register_assert_rewrite("tests.agent.indistinguishable.twice")


@pytest.fixture(autouse=True)
def bursts_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are looked at all the time."""
    monkeypatch.setenv("UNDERFED_STACKS", "always")
