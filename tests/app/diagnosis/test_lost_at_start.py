"""Hours are those of all steps, the verdict is about the judged ones: where these differ that is said."""

from __future__ import annotations

import pytest

from tests.app.made_diagnosis import made_diagnosis
from tests.app.made_facts import made_run
from underfed_server.diagnosis.chosen_loader import is_lost_at_start


@pytest.mark.parametrize(
    ("waits", "lost", "said"), [(0.0, 0.02, True), (0.4, 0.9, False), (0.01, 0.04, False), (0.0, 0.0, False)]
)
def test_hours_of_which_the_judged_steps_have_the_least_were_lost_before_them(
    waits: float, lost: float, said: bool
) -> None:
    facts = made_run()
    judged = facts.steps - facts.warmup_steps
    verdict = made_diagnosis(data_stall_fraction=waits, hours_lost=lost, hours_used=2.0, judged_steps=judged)
    assert is_lost_at_start(verdict, facts) is said


def test_copies_that_every_step_waits_for_were_not_lost_at_the_start() -> None:
    facts = made_run()
    judged = facts.steps - facts.warmup_steps
    verdict = made_diagnosis(
        data_stall_fraction=0.002, hours_lost=0.44, copy_hours_lost=0.43, hours_used=2.0, judged_steps=judged
    )
    assert not is_lost_at_start(verdict, facts)
    assert is_lost_at_start(verdict.model_copy(update={"copy_hours_lost": 0.01}), facts)


def test_steps_before_the_newest_are_not_the_start() -> None:
    facts = made_run()
    verdict = made_diagnosis(data_stall_fraction=0.0, hours_lost=0.1, hours_used=2.0, judged_steps=facts.steps // 2)
    assert not is_lost_at_start(verdict, facts)
    judged = facts.steps - facts.warmup_steps
    restarted = verdict.model_copy(update={"judged_steps": judged, "judged_from_step": 3})
    assert not is_lost_at_start(restarted, facts)
