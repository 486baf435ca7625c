"""What is logged at a time, and who logs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Line:
    at_ms: int
    """Unix time."""
    steps: int
    scalars: Mapping[str, float]
    words: Mapping[str, str]
    """``page``, ``bound`` and ``cause``, as far as they are known; repeated in each line."""


class Log(Protocol):
    def __call__(self, line: Line) -> None:
        """Log it with a tracker's own library, which may raise anything."""
