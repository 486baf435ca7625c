"""Whether other lines take the time towards the end of a run than at first: shares of all of it do not show that."""

from __future__ import annotations

import math
from collections.abc import Sequence

from underfed_server.diagnosis.rounded import percent
from underfed_server.facts.costly_lines import CostlyLine, costly_lines, looks_at
from underfed_server.facts.loading import LEAST_SAMPLES, LoaderHotspots, Looks, looks_in
from underfed_server.facts.share_of_looks import Whole, whole_of

LEAST_CHANGE = 0.10
"""Of the time. Own choice: of less nobody would change anything else."""

MOST_LINES = 20


def change_of(loading: LoaderHotspots) -> str | None:
    """A sentence on the line that takes most less of the time than at first, and on the one that takes most more.
    ``None``: none does by more than the margins of both, or too little was seen of either half.
    """
    halves = loading.earlier, loading.later
    if any(looks_in(half) < LEAST_SAMPLES for half in halves):
        return None
    wholes = [whole_of(half.values()) for half in halves]
    lines = costly_lines(loading, most=MOST_LINES)
    found = zip(*(looks_at(lines, half, loading) for half in halves), strict=True)
    changes = [(_change(looks, wholes), line, looks) for line, looks in zip(lines, found, strict=True)]
    changed = sorted((each for each in changes if each[0]), key=lambda each: each[0])
    ends = [*[each for each in changed if each[0] < 0][:1], *[each for each in changed if each[0] > 0][-1:]]
    parts = [_said(line, looks, wholes) for _by, line, looks in ends]
    return f"That changed on the way: {'; '.join(parts)}." if parts else None


def _change(looks: Sequence[Looks], wholes: Sequence[Whole]) -> float:
    """Of its share; 0: by no more than both are known to. What looking itself distorts is in both, but not alike where
    the load of the host changes: in runs that did not change 41 % and 6 % were seen."""
    first, last = _shares(looks, wholes)
    margins = [whole.margin(part) for whole, part in zip(wholes, looks, strict=True)]
    if None in margins:
        return 0.0
    least = max(LEAST_CHANGE, math.hypot(*(margin or 0.0 for margin in margins)))
    return last - first if abs(last - first) > least else 0.0


def _shares(looks: Sequence[Looks], wholes: Sequence[Whole]) -> list[float]:
    return [whole.share(part) for whole, part in zip(wholes, looks, strict=True)]


def _said(line: CostlyLine, looks: Sequence[Looks], wholes: Sequence[Whole]) -> str:
    first, last = map(percent, _shares(looks, wholes))
    return f"{line} took {first} until about half of the time, and {last} since"
