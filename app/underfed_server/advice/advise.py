"""Every change of the catalogue considered against one run: advice by gain, refusals with their reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from underfed_server.advice.case import Case, make_case
from underfed_server.advice.catalogue import all_changes
from underfed_server.advice.command import with_commands
from underfed_server.diagnosis.verdict import Verdict
from underfed_server.facts.record import RunFacts
from underfed_server.model import Advice, Refusal


@dataclass(frozen=True, slots=True)
class Recommendation:
    advice: tuple[Advice, ...] = ()
    refusals: tuple[Refusal, ...] = ()


def advise(facts: RunFacts, verdict: Verdict) -> Recommendation:
    """Empty unless the run loses time to its input, or will fail by it: a compute-bound run is left alone."""
    case = make_case(facts, verdict)
    return recommend(case) if case else Recommendation()


def recommend(case: Case) -> Recommendation:
    outcomes = [outcome for consider in all_changes() for outcome in consider(case)]
    advice = in_order(case, (outcome for outcome in outcomes if isinstance(outcome, Advice)))
    refusals = (outcome for outcome in outcomes if isinstance(outcome, Refusal))
    return Recommendation(tuple(with_commands(case.facts, advice)), tuple(refusals))


def in_order(case: Case, advice: Iterable[Advice]) -> list[Advice]:
    """By predicted gain; after these, by what the causes cost that a change cures. Stable in all else."""
    return sorted(advice, key=lambda one: (-(one.predicted_speedup or 0.0), -case.cost_fraction(one.change)))
