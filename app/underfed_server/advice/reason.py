"""The reason of a verdict in the order of what is to be done: each cause stands where its cure does, and the line that
the first fix is about is named."""

from __future__ import annotations

import re
from collections.abc import Sequence

from underfed_server.advice.outside_loader import Action
from underfed_server.diagnosis.causes import all_causes
from underfed_server.diagnosis.rounded import percent, points
from underfed_server.model import Advice, CauseFinding
from underfed_server.names import CauseName

OF_LINE = "cheaper_transform"


def reason_by_acts(
    why: str | None,
    causes: Sequence[CauseFinding],
    beside: Sequence[Action],
    advice: Sequence[Advice],
    *,
    is_beside_first: bool,
) -> str | None:
    """``why``: with the causes that it names in the order of their costs, one after the other."""
    named = [(each, match[0]) for each in causes if (match := re.search(_pattern(each), why or ""))]
    before = " ".join(text for _, text in named)
    if why is None or not named or before not in why:
        return why
    acts = _acts(beside, advice, is_beside_first)
    ordered = [text for _, text in sorted(named, key=lambda one: _place(one[0].cause, acts))]
    if (line := _line(advice, before)) is not None:
        ordered.append(line)
    return why.replace(before, " ".join(ordered), 1)


def _pattern(cause: CauseFinding) -> str:
    """Its sentence, with the share that it costs behind the first part."""
    first, *rest = re.split(r"(\.(?= |$))", cause.sentence, maxsplit=1)
    return rf"{re.escape(first)}(?: \([\d.]+% of the wait[^()]*\))?{re.escape(''.join(rest))}"


def _acts(beside: Sequence[Action], advice: Sequence[Advice], is_beside_first: bool) -> list[set[CauseName]]:
    """The causes that each of them is about, in the order in which they are shown."""
    outside: list[set[CauseName]] = [{each.cause} if each.cause else set() for each in beside]
    inside = [{name for name, cause in all_causes().items() if one.change in cause.cured_by} for one in advice]
    return [*outside, *inside] if is_beside_first else [*inside, *outside]


def _place(cause: CauseName, acts: Sequence[set[CauseName]]) -> int:
    return next((place for place, about in enumerate(acts) if cause in about), len(acts))


def _line(advice: Sequence[Advice], before: str) -> str | None:
    """Of the first act that is about one; ``None``: a cause names it, or there is no such act."""
    first = next((one for one in advice[:1] if one.change == OF_LINE and one.ceiling_of), None)
    if first is None:
        return None
    line, share = first.why.partition(": ")[0], first.evidence[0]
    if line in before or not isinstance(share.value, float):
        return None
    margin = "" if share.margin_fraction is None else f" {points(share.margin_fraction)}"
    return f"Of loading, {percent(share.value)}{margin} is {line}."
