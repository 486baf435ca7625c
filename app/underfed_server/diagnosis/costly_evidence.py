"""The line that most loading is in, as evidence of a cause: of those that can be to blame for it."""

from __future__ import annotations

import re

from underfed_server.diagnosis.examination import Examination
from underfed_server.facts.costly_lines import CostlyLine, IsMeant, costliest_line, name_of
from underfed_server.facts.loading import Place
from underfed_server.model import Evidence, Stage

READS = re.compile(
    r"(^|[._])(open|read\w*|p?readv?|readinto|recv\w*|load|imread|fromfile|memmap|urlopen|get_object|seek|stat)$"
)
"""Functions that read, by the last part of their names: those of files, sockets, NumPy, OpenCV and object storage."""


CALLERS = 3
"""Of one line."""

LOOKS = "Stack samples of loading"
"""While a run goes on there are more by now, and shares of more."""

NOT_SEEN = "it was not seen there"

SAMPLER_NOT_SEEN = "the sampler runs in the training process, which is looked at with --profile alone"


def costliest(
    examined: Examination, is_meant: IsMeant | None = None, not_seen: str | None = None, only: str = ""
) -> list[Evidence]:
    """Nothing where it was not looked up what loading executes. ``not_seen``: why no line may be known, where that is
    not for want of looks. ``only``: words for which of its stacks are meant, where the same line may be in others.
    """
    loading = examined.facts.loading
    if loading is None:
        return []
    line = costliest_line(loading, is_meant)
    if line is None:
        why = not_seen or loading.missing or NOT_SEEN
        return [Evidence(what=f"Of loading, in its costliest call: not measured, {why}", value=None, unit="fraction")]
    return [
        Evidence(
            what=f"Of loading, in {line}{only}",
            value=line.fraction,
            unit="fraction",
            margin_fraction=line.margin_fraction,
        ),
        *called_from(line, only),
        Evidence(what=LOOKS, value=loading.seen, unit="count"),
    ]


def called_from(line: CostlyLine, only: str = "") -> list[Evidence]:
    """A helper's callers are where its calls can become fewer."""
    return [
        Evidence(
            what=f"Of loading, there through {name_of(place)}{only}",
            value=part,
            unit="fraction",
            margin_fraction=margin,
        )
        for place, part, margin in line.callers[:CALLERS]
    ]


def is_joining(stage: Stage, _places: tuple[Place, ...]) -> bool:
    return stage == "collate"


def reads(_stage: Stage, places: tuple[Place, ...]) -> bool:
    return any(READS.search(function) for function, *_ in places)


def chooses(sampler: str) -> IsMeant:
    """Where torch asks for indices, or within the sampler's class or torch's samplers."""

    def is_meant(_stage: Stage, places: tuple[Place, ...]) -> bool:
        return any(
            function.endswith("_next_index") or function.startswith(f"{sampler}.") or file.endswith("data/sampler.py")
            for function, file, _ in places
        )

    return is_meant
