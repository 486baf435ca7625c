"""What a change of the catalogue is considered against: facts, verdict, and a predictor where one can be made."""

from __future__ import annotations

from dataclasses import dataclass

from underfed_server.advice.cures import CURES, IN_ANY_RUN
from underfed_server.advice.predict import Predictor, make_predictor
from underfed_server.advice.replay import PredictionError, recorded_setting
from underfed_server.advice.simulate import LoaderSetting
from underfed_server.diagnosis.ranks import judged_rank
from underfed_server.diagnosis.verdict import Verdict
from underfed_server.facts.record import LoaderFacts, RankFacts, RunFacts
from underfed_server.model import Cause, CauseFinding, Change


@dataclass(frozen=True, slots=True)
class Case:
    """A run in which something about its input may be changed. ``predictor`` is ``None`` when ``obstacle`` says why."""

    facts: RunFacts
    verdict: Verdict
    loader: LoaderFacts
    rank: RankFacts
    predictor: Predictor | None
    obstacle: str | None

    @property
    def waits_for_data(self) -> bool:
        """Only then is a change considered that makes loading faster."""
        return self.verdict.bound == "data"

    @property
    def is_short_of_memory(self) -> bool:
        return self.found("memory_pressure") is not None

    @property
    def num_workers(self) -> int:
        return self.loader.num_workers or 0

    @property
    def prefetch_factor(self) -> int:
        """As torch has it where workers are started and none is said."""
        return self.loader.prefetch_factor or 2

    @property
    def recorded(self) -> LoaderSetting:
        """As the run had it."""
        return recorded_setting(self.loader)

    @property
    def ranks_on_host(self) -> int:
        """That share cores, memory and /dev/shm with the judged one, itself included."""
        return max(1, sum(each.hostname == self.rank.hostname for each in self.facts.ranks))

    def found(self, *causes: Cause) -> CauseFinding | None:
        """The costliest of these that the verdict names."""
        return next((finding for finding in self.verdict.causes if finding.cause in causes), None)

    def cost_fraction(self, change: Change) -> float:
        """Share of a step that the causes cost which ``change`` cures."""
        return sum(finding.cost_fraction for finding in self.verdict.causes if finding.cause in CURES[change])


def make_case(facts: RunFacts, verdict: Verdict) -> Case | None:
    """``None`` for runs that get no advice: nothing is lost to input and nothing will fail, or no loader is known."""
    concerns_any = any(finding.cause in IN_ANY_RUN for finding in verdict.causes)
    if facts.loader is None or not (verdict.bound in ("data", "transfer") or concerns_any):
        return None
    rank = judged_rank(facts)
    try:
        predictor, obstacle = make_predictor(rank, facts.loader, facts.host), None
    except PredictionError as error:
        predictor, obstacle = None, str(error)
    return Case(facts, verdict, facts.loader, rank, predictor, obstacle)
