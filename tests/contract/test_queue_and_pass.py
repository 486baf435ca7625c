"""Which queues are too long for a pass: ``--tune`` tries what is advised, and what it refuses is not advised."""

from __future__ import annotations

import pytest

from tests.agent.tuning.training_loop import NONE, Loop
from tests.app.advice.made_case import altered, made_case, made_verdict
from tests.app.made_facts import starved
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed_server.advice.capacity import fits_in_pass
from underfed_server.advice.prediction.simulate import SimulatedSetting


@pytest.mark.parametrize("steps", [1, 2, 3, 8, 25, None])
@pytest.mark.parametrize("factor", [1, 2, 4])
def test_a_queue_is_too_long_for_both_or_for_neither(steps: int | None, factor: int) -> None:
    case = made_case(altered(starved(), loader={"batches_per_epoch": steps}), made_verdict(no_workers=0.7))
    conductor = Loop({NONE: 90}, pass_steps=steps).conductor
    for workers in range(1, 9):
        is_tried = conductor._why_no_pass(LoaderSetting(workers, factor)) is None
        assert fits_in_pass(case, SimulatedSetting(workers, factor)) == is_tried
