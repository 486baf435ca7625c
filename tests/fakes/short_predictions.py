"""Gains predicted from fewer steps than the service simulates, which is most of what judging takes: for tests of what
shows them, not of the predictions.
"""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest import mock

from underfed_server.advice.prediction import predict
from underfed_server.advice.prediction.altered import changed
from underfed_server.advice.prediction.simulate import simulate

SIMULATED_STEPS = 60
"""With half as many, advice is less sure of its gain, and worded at greater length."""


def short_predictions() -> Any:
    """Within its block, or for good once it is started. Both are replaced, as tests of the service replace both for as
    long as their process lives."""
    return mock.patch.multiple(predict, changed=changed, simulate=partial(simulate, steps=SIMULATED_STEPS))
