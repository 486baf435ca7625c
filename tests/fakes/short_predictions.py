"""Gains predicted from fewer steps than the service simulates, which is most of what judging takes: for tests of what
shows them, not of the predictions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from underfed_server.advice.prediction.altered import changed
from underfed_server.advice.prediction.simulate import simulate

SIMULATED_STEPS = 60
"""With half as many, advice is less sure of its gain, and told at greater length."""

SHORT: Mapping[str, Any] = {"changed": changed, "simulate": partial(simulate, steps=SIMULATED_STEPS)}
"""In place of those of ``underfed_server.advice.prediction.predict``: both, as tests of the service replace both for as
long as their process lives."""
