"""What to do about a run beside its loader's settings."""

from __future__ import annotations

from typing import NamedTuple


class Action(NamedTuple):
    sentence: str
    of_loop: float
    """Share of the loop's time that goes away at most. 0: it is not known."""
