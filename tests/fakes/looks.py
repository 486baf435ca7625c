"""How often something was seen, by group of bursts: as evenly as it goes, as where each look finds another call."""

from __future__ import annotations

from underfed.exchange.stacks import GROUPS


def evenly(count: int) -> list[int]:
    each, rest = divmod(count, GROUPS)
    return [each + (group < rest) for group in range(GROUPS)]
