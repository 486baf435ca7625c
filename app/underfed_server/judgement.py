"""Judges runs as their windows arrive: facts, verdict, advice and ledger, saved as the run's diagnosis.

The verdict is made anew each time. Advice is simulated, which takes a good part of a second, so it is made anew when
the run has grown by a quarter, changed its verdict, or ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from underfed_server.advice.advise import Recommendation, advise
from underfed_server.diagnosis.judge import Before, judge
from underfed_server.diagnosis.limits import LIMITS
from underfed_server.diagnosis.verdict import Verdict
from underfed_server.facts.record import RunFacts
from underfed_server.model import Bound, Cause, Diagnosis, LedgerEntry, Status
from underfed_server.proof import GROWTH, Proof, read_facts, tell_earlier_runs
from underfed_server.replayed import read_replay, tell_of_replay
from underfed_server.store.store import Store
from underfed_server.team.shared import read_shared


@dataclass(frozen=True, slots=True)
class _Advised:
    steps: int
    bound: Bound
    cause: Cause | None
    """The leading one."""
    status: Status
    recommendation: Recommendation


class Judgement:
    """Remembers the advice and the pair of running runs. Called on one thread."""

    def __init__(self) -> None:
        self._advised: dict[str, _Advised] = {}
        self._proof = Proof()

    def __call__(self, store: Store, run_id: str) -> bool:
        """Judge the run and save its diagnosis. ``False``: it says the same as the last one.

        Raises:
            NotFoundError: there is no such run.
            TryLaterError: the store cannot be written.
        """
        facts, known = read_facts(store, run_id), store.diagnosis(run_id)
        if known is not None and facts.judged_steps < known.judged_steps and store.rows_deleted_at(run_id) is not None:
            return _stands(store, known, facts.status)
        verdict = judge(facts, before=Before.of(known))
        recommendation = self._advise(facts, verdict)
        ledger = self._proof.entries(store, facts, verdict.ranks, known)
        found = diagnosis_of(facts, verdict, recommendation, ledger)
        found = found.model_copy(update={"shared": read_shared(store, found), "replay": read_replay(store, run_id)})
        changed = store.save_diagnosis(found)
        if facts.status != "running":
            self._advised.pop(run_id, None)
            tell_earlier_runs(store, facts, ledger)
            tell_of_replay(store, run_id)
        return changed

    def _advise(self, facts: RunFacts, verdict: Verdict) -> Recommendation:
        last = self._advised.get(facts.run_id)
        cause = verdict.causes[0].cause if verdict.causes else None
        unchanged = last and (last.bound, last.cause, last.status) == (verdict.bound, cause, facts.status)
        if last and unchanged and facts.steps < last.steps * GROWTH:
            return last.recommendation
        recommendation = advise(facts, verdict)
        self._advised[facts.run_id] = _Advised(facts.steps, verdict.bound, cause, facts.status, recommendation)
        return recommendation


def _stands(store: Store, known: Diagnosis, status: Status) -> bool:
    """Retention gave up what the run was judged by: what was found then is all that can be said."""
    if known.status != status:
        store.save_diagnosis(known.model_copy(update={"status": status}))
    return known.status != status


def diagnosis_of(
    facts: RunFacts, verdict: Verdict, recommendation: Recommendation, ledger: Sequence[LedgerEntry] = ()
) -> Diagnosis:
    """The contract's shape of what was found."""
    return Diagnosis(
        run_id=facts.run_id,
        status=facts.status,
        steps=facts.steps,
        loader=facts.loader.name if facts.loader else None,
        bound=verdict.bound,
        clock=verdict.clock,
        level=verdict.level,
        confidence=verdict.confidence,
        reason=verdict.reason,
        sentence=verdict.sentence,
        why=verdict.why,
        judged_steps=verdict.judged_steps,
        needed_steps=LIMITS.warmup_steps + LIMITS.needed_steps,
        warmup_steps=facts.warmup_steps,
        data_stall_fraction=verdict.data_stall_fraction,
        steps_per_s=verdict.steps_per_s,
        samples_per_s=verdict.samples_per_s,
        instant_data_steps_per_s=verdict.instant_data_steps_per_s,
        hours_lost=verdict.hours_lost,
        copy_hours_lost=verdict.copy_hours_lost,
        gpu_hours_lost=verdict.gpu_hours_lost,
        hours_used=verdict.hours_used,
        anatomy=verdict.anatomy,
        causes=list(verdict.causes),
        signals=list(verdict.signals),
        advice=list(recommendation.advice),
        refusals=list(recommendation.refusals),
        ranks=list(verdict.ranks),
        ledger=list(ledger),
        judged_at=None,
    )
