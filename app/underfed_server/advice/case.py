"""What a change of the catalogue is considered against: facts, verdict, and a predictor where one can be made."""

from __future__ import annotations

from dataclasses import dataclass

from underfed_server.advice.predict import Predictor, make_predictor
from underfed_server.advice.replay import PredictionError
from underfed_server.diagnosis.verdict import Verdict
from underfed_server.facts.record import LoaderFacts, RankFacts, RunFacts


@dataclass(frozen=True, slots=True)
class Case:
    """A run that loses time to its input. ``predictor`` is ``None`` when ``obstacle`` says why."""

    facts: RunFacts
    verdict: Verdict
    loader: LoaderFacts
    rank: RankFacts
    predictor: Predictor | None
    obstacle: str | None


def make_case(facts: RunFacts, verdict: Verdict) -> Case | None:
    """``None`` for runs that get no advice on their loader: not data-bound, or no loader known."""
    if verdict.bound != "data" or facts.loader is None:
        return None
    rank = facts.median_rank
    try:
        predictor, obstacle = make_predictor(rank, facts.loader, facts.host), None
    except PredictionError as error:
        predictor, obstacle = None, str(error)
    return Case(facts, verdict, facts.loader, rank, predictor, obstacle)
