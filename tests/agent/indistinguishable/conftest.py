"""The comparison's own assert tells what differs, as those in the tests do."""

import pytest

pytest.register_assert_rewrite("tests.agent.indistinguishable.twice")


@pytest.fixture(autouse=True)
def bursts_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forked workers are looked at all the time."""
    monkeypatch.setattr("underfed.trainer.loading.stack_sampler.is_burst", lambda *_: True)
