"""The comparison's own assert shows what differs, as those in the tests do."""

import pytest

pytest.register_assert_rewrite("tests.agent.indistinguishable.twice")


@pytest.fixture(autouse=True, params=["workers", pytest.param("and training", marks=pytest.mark.soak(passes=1, of=2))])
def bursts_always(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are looked at all the time; with ``--soak`` the training process is, too."""
    monkeypatch.setenv("UNDERFED_STACKS", "always")
    if request.param != "workers":
        monkeypatch.setenv("UNDERFED_PROFILE", "1")
