"""Every change of the catalogue considered against one run: advice by gain, refusals with their reason."""

from __future__ import annotations

from dataclasses import dataclass

from underfed_server.advice.case import make_case
from underfed_server.advice.catalogue import all_changes
from underfed_server.diagnosis.verdict import Verdict
from underfed_server.facts.record import RunFacts
from underfed_server.model import Advice, Refusal


@dataclass(frozen=True, slots=True)
class Recommendation:
    advice: tuple[Advice, ...] = ()
    refusals: tuple[Refusal, ...] = ()


def advise(facts: RunFacts, verdict: Verdict) -> Recommendation:
    """Empty unless the run loses time to its input: a compute-bound run is left alone."""
    case = make_case(facts, verdict)
    if case is None:
        return Recommendation()
    outcomes = [outcome for consider in all_changes() for outcome in consider(case)]
    advice = [outcome for outcome in outcomes if isinstance(outcome, Advice)]
    refusals = [outcome for outcome in outcomes if isinstance(outcome, Refusal)]
    advice.sort(key=lambda one: -(one.predicted_speedup or 0.0))
    return Recommendation(tuple(advice), tuple(refusals))
