"""What to do about a run beside its loader's settings."""

from __future__ import annotations

from typing import NamedTuple

from underfed_server.names import CauseName


class Action(NamedTuple):
    title: str
    detail: str
    """Sentences: why, and what else would do."""
    sentence: str
    """Both in one, where there is no room for a title."""
    of_loop: float
    """Share of the loop's time that goes away at most. 0: it is not known."""
    cause: CauseName | None = None
    """What it cures; ``None``: none that a verdict names."""
