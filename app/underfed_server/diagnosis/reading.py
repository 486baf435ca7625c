"""How one signal reads: as a cause, a symptom of one, ruled out, or not measured."""

from __future__ import annotations

from typing import Literal

from underfed_server.model import Cause, Evidence, Signal

Reading = Literal["cause", "symptom", "ruled_out", "not_measured"]


def whole_percent(limit: float) -> str:
    """Limits are round numbers, and read as such."""
    return f"{limit * 100:.0f}%"


def signal(name: str, measured: Evidence, healthy: str, reading: Reading, says: str) -> Signal:
    words = {"ruled_out": "ruled out", "not_measured": "not measured"}.get(reading, says)
    return Signal(signal=name, measured=measured, healthy=healthy, reading=reading, says=words)


def symptom(is_bad: bool, measured: float | None = 0.0) -> Reading:
    if measured is None:
        return "not_measured"
    return "symptom" if is_bad else "ruled_out"


def cause(cause: Cause, found: set[Cause]) -> Reading:
    return "cause" if cause in found else "ruled_out"


def cause_or_symptom(cause: Cause, found: set[Cause], is_bad: bool, measured: float | None) -> Reading:
    return "cause" if is_bad and cause in found else symptom(is_bad, measured)
