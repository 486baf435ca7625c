"""Diagnoses runs as their windows arrive: facts, verdict, advice and ledger, saved together.

The verdict is computed each time. Advice is simulated, which takes a good part of a second, so it is computed again
only when the run has grown by a quarter, changed its verdict, or ended.
"""

from __future__ import annotations

from collections.abc import Sequence

from underfed_server.advice.advise import Recommendation, advise
from underfed_server.advice.proof.ledger import Pairing
from underfed_server.diagnosis.judge import Before, judge
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.earlier import (
    Remembered,
    add_replay,
    add_to_ledgers,
    find_pairing,
    ledger_of,
    measured_replay,
    read_facts,
)
from underfed_server.facts.record import RunFacts
from underfed_server.model import Diagnosis, LedgerEntry, Status, Verdict
from underfed_server.store.store import Store
from underfed_server.team.shared_causes import read_shared


class Diagnoser:
    """Remembers, of each running run, its advice and the earlier run whose advice it carries. Called on one thread."""

    def __init__(self) -> None:
        self._advised = Remembered[Recommendation]()
        self._paired = Remembered[Pairing | None]()

    def __call__(self, store: Store, run_id: str) -> bool:
        """Diagnose the run and save it. ``False``: it says the same as the last diagnosis.

        Raises:
            NotFoundError: there is no such run.
            TryLaterError: the store cannot be written.
        """
        facts, known = read_facts(store, run_id), store.diagnosis(run_id)
        if known is not None and facts.judged_steps < known.judged_steps and store.rows_deleted_at(run_id) is not None:
            return _keep(store, known, facts.status)
        verdict = judge(facts, before=Before.of(known))
        basis = (verdict.bound, verdict.causes[0].cause if verdict.causes else None)
        recommendation = self._advised.of(facts, basis, lambda: advise(facts, verdict))
        pairing = self._paired.of(facts, None, lambda: find_pairing(store, facts, verdict.ranks))
        ledger = ledger_of(store, facts, pairing, known)
        found = diagnosis_of(facts, verdict, recommendation, ledger)
        beside = {"shared": read_shared(store, found), "replay": measured_replay(store, run_id)}
        changed = store.save_diagnosis(found.model_copy(update=beside))
        if facts.status != "running":
            add_to_ledgers(store, facts, ledger)
            add_replay(store, run_id)
        return changed


def _keep(store: Store, known: Diagnosis, status: Status) -> bool:
    """Retention deleted the steps that the run was judged by: its last diagnosis stays, with the status of now."""
    if known.status != status:
        store.save_diagnosis(known.model_copy(update={"status": status}))
    return known.status != status


def diagnosis_of(
    facts: RunFacts, verdict: Verdict, recommendation: Recommendation, ledger: Sequence[LedgerEntry] = ()
) -> Diagnosis:
    """The contract's shape of what was found."""
    return Diagnosis(
        **dict(verdict),
        run_id=facts.run_id,
        status=facts.status,
        steps=facts.steps,
        loader=facts.loader.loader if facts.loader else None,
        needed_steps=THRESHOLDS.warmup_steps + THRESHOLDS.needed_steps,
        warmup_steps=facts.warmup_steps,
        advice=list(recommendation.advice),
        refusals=list(recommendation.refusals),
        ledger=list(ledger),
        judged_at=None,
    )
