"""The line that most loading is in, as evidence of a cause: of those that can be to blame for it."""

from __future__ import annotations

import re

from underfed_server.diagnosis.examination import Examination
from underfed_server.facts.costly_lines import IsMeant, costliest_line
from underfed_server.model import Evidence, Stage
from underfed_server.store.reading.stacks import Place

READS = re.compile(
    r"(^|[._])(open|read\w*|p?readv?|readinto|recv\w*|load|imread|fromfile|memmap|urlopen|get_object|seek|stat)$"
)
"""Functions that read, by the last part of their names: those of files, sockets, NumPy, OpenCV and object storage."""


def costliest(examined: Examination, is_meant: IsMeant | None = None) -> list[Evidence]:
    """Nothing where it was not looked up what loading executes."""
    loading = examined.facts.loading
    if loading is None:
        return []
    line = costliest_line(loading, is_meant)
    if line is None:
        why = loading.missing or "it was not seen there"
        return [Evidence(what=f"Of loading, in its costliest line: not measured, {why}", value=None, unit="fraction")]
    return [
        Evidence(what=f"Of loading, in {line}", value=line.fraction, unit="fraction"),
        Evidence(what="Looks at what loading executes", value=loading.seen, unit="count"),
    ]


def is_joining(stage: Stage, _places: tuple[Place, ...]) -> bool:
    return stage == "collate"


def reads(_stage: Stage, places: tuple[Place, ...]) -> bool:
    return any(READS.search(function) for function, *_ in places)


def chooses(sampler: str) -> IsMeant:
    """Of the sampler's class: it runs in the training process, which is sampled where the run asked for it."""

    def is_meant(_stage: Stage, places: tuple[Place, ...]) -> bool:
        return any(
            function.startswith(f"{sampler}.") or file.endswith("data/sampler.py") for function, file, _ in places
        )

    return is_meant
