"""What the judge finds in made-up facts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from underfed_server.diagnosis.judge import judge
from underfed_server.facts.record import RunFacts
from underfed_server.model import CauseFinding


def causes(facts: RunFacts) -> list[str]:
    return [finding.cause for finding in judge(facts).causes]


def finding(facts: RunFacts, cause: str) -> CauseFinding:
    return next(each for each in judge(facts).causes if each.cause == cause)


def is_growing(costs: Sequence[float]) -> bool:
    return all(before < after for before, after in pairwise(costs))
