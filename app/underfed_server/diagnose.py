"""Diagnoses runs as their windows arrive: facts, verdict, advice and ledger, saved together.

The verdict is computed each time. Advice is simulated, which takes a good part of a second, so it is computed again
only when the run has grown by a quarter, changed its verdict, or ended.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from underfed_server.advice.advise import Recommendation, advise
from underfed_server.advice.hours_saved import hours_judged, hours_saved, within_lost
from underfed_server.advice.kept import at_present, no_more_than
from underfed_server.advice.order import is_outside_first
from underfed_server.advice.outside_loader import Action, actions
from underfed_server.advice.proof.ledger import Pairing
from underfed_server.advice.reason import reason_by_acts
from underfed_server.advice.run_gain import with_run_gains
from underfed_server.advice.to_write import to_write
from underfed_server.diagnosis.chosen_loader import (
    choose_loader,
    is_lost_at_start,
    line_of,
    loop_share,
    of_run,
)
from underfed_server.diagnosis.ended_tuning import as_it_ended
from underfed_server.diagnosis.instant_data import most_of_one_loader
from underfed_server.diagnosis.judge import Before, explained_by_stacks, judge, without_figures
from underfed_server.diagnosis.overview import Overview, overview_of
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.earlier import (
    Remembered,
    add_replay,
    add_to_ledgers,
    find_pairing,
    ledger_of,
    measured_replay,
    named,
    read_facts,
    with_proven,
)
from underfed_server.errors import NotFoundError
from underfed_server.facts.hotspots import read_hotspots
from underfed_server.facts.loading import LoaderHotspots
from underfed_server.facts.record import RunFacts
from underfed_server.ingest.posted import RunVerdict
from underfed_server.model import BesideAction, Diagnosis, LedgerEntry, LoaderLine, Verdict
from underfed_server.store.runs.diagnoses import ToSave, to_save
from underfed_server.store.store import Store
from underfed_server.team.shared_causes import read_shared


class Diagnoser:
    """Remembers, of each running run, its advice and the earlier run whose advice it carries. Called on one thread."""

    def __init__(self) -> None:
        self._advised = Remembered[Recommendation]()
        self._paired = Remembered[Pairing | None]()
        self._loading = Remembered[LoaderHotspots]()
        self._between = Remembered[LoaderHotspots]()

    def __call__(self, store: Store, run_id: str) -> Judgement | None:
        """Diagnose the run and save it. ``None``: the last diagnosis stays.

        Raises:
            NotFoundError: there is no such run.
            TryLaterError: the store cannot be written.
        """
        found = self.diagnose(store, run_id)
        return None if found is None else save(store, found_in(found))

    def diagnose(self, store: Store, run_id: str) -> Diagnosis | None:
        """Only reads. ``None``: the last diagnosis stays as it is.

        Raises:
            NotFoundError: there is no such run.
        """
        known = store.diagnosis(run_id)
        facts = read_facts(store, run_id, lambda loaders, status: choose_loader(loaders, known, status))
        of_same = known if known and known.loader == name_of(facts) else None
        if of_same and facts.judged_steps < of_same.judged_steps and store.rows_deleted_at(run_id) is not None:
            # Retention deleted the steps that the run was judged by.
            tuning = as_it_ended(of_same.tuning, facts.status)
            same = of_same.model_copy(update={"status": facts.status, "tuning": tuning})
            return None if of_same.status == facts.status else same
        overview = overview_of(facts)
        before = Before.of(of_same)
        name, read = name_of(facts), partial(read_hotspots, store, run_id, name_of(facts))
        facts = _with_stacks(
            facts, before, overview,
            loading=partial(self._loading.of, facts, name, read),
            between=partial(self._between.of, facts, name, partial(read, of="step")),
        )  # fmt: skip
        verdict = judge(facts, before, overview)
        leading = verdict.causes[0].cause if verdict.causes else None
        basis = (name_of(facts), verdict.bound, leading, facts.settings, facts.tuned is None)
        recommendation = self._advised.of(facts, basis, lambda: advise(with_proven(store, facts), verdict, overview))
        pairing = self._paired.of(facts, name_of(facts), lambda: find_pairing(store, facts))
        ledger = ledger_of(store, facts, pairing, known)
        found = diagnosis_of(facts, overview, of_run(verdict, facts), recommendation, ledger)
        own = facts.judged_loader
        replay = measured_replay(store, run_id) if own and own.role == "train" else None
        beside = {"shared": read_shared(store, found), "replay": replay, "read_rate": overview.storage.read}
        return found.model_copy(update=beside)


@dataclass(frozen=True, slots=True)
class FoundDiagnosis:
    """What is saved of a diagnosis."""

    to_save: ToSave
    ended: Diagnosis | None
    """The diagnosis of a run that does not run any more."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a run was judged to be, once that is saved."""

    verdict: RunVerdict | None
    """``None``: there is none."""
    is_new: bool
    """The diagnosis differs from the last one."""


def found_in(diagnosis: Diagnosis) -> FoundDiagnosis:
    return FoundDiagnosis(to_save(diagnosis), None if diagnosis.status == "running" else diagnosis)


def save(store: Store, found: FoundDiagnosis) -> Judgement:
    """Save what was found of a run, and with earlier runs what it showed of them once it has ended.

    Raises:
        NotFoundError: there is no such run.
        TryLaterError: the store cannot be written.
    """
    is_new = store.save_found(found.to_save)
    if found.ended is not None:
        add_to_ledgers(store, found.ended)
        add_replay(store, found.ended.run_id)
    return Judgement(found.to_save.verdict, is_new=is_new)


MOST_KEPT = 64
"""Diagnoses of single loaders, about 100 kB each."""


class LoaderDiagnoses:
    """Diagnoses of loaders that the verdict on their run is not about, computed when one is requested. Any thread.

    Each is kept until its loader has more steps or its run ends.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], tuple[object, Diagnosis]] = OrderedDict()
        # One at a time: each computes, and a page asks for the same one again and again.
        self._lock = threading.Lock()

    def read(self, store: Store, run_id: str, loader: str) -> Diagnosis:
        """Its own verdict, hours and advice; the lines on all loaders, and what its advice gained, as the run's
        last diagnosis has them.

        Raises:
            NotFoundError: there is no such run, or it has no loader of that name.
        """
        run, known = store.run(run_id), store.diagnosis(run_id)
        totals = [each for each in store.step_totals(run_id) if each.loader == loader]
        if not totals and all(each.loader != loader for each in run.loaders):
            raise NotFoundError(f"run {run_id!r} has no loader {loader!r}", field="loader")
        seen = (run.status, totals)
        with self._lock:
            kept = self._kept.get((run_id, loader))
            if kept is None or kept[0] != seen:
                kept = seen, _diagnosis_of_loader(store, run_id, loader)
            self._kept[run_id, loader] = kept
            self._kept.move_to_end((run_id, loader))
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        if known is None or not known.loaders:
            return kept[1]
        ledger = [entry for entry in known.ledger if entry.loader == loader]
        return kept[1].model_copy(update={"loaders": known.loaders, "ledger": ledger})


def _with_stacks(
    facts: RunFacts,
    before: Before | None,
    overview: Overview,
    *,
    loading: Callable[[], LoaderHotspots],
    between: Callable[[], LoaderHotspots],
) -> RunFacts:
    """With what was seen to execute where that explains something: each is looked up then alone."""
    explained = explained_by_stacks(facts, before, overview)
    if explained.loading:
        facts = replace(facts, loading=loading())
    # Whether the run was profiled is known with what was seen of its loading.
    if explained.between and (facts.loading is None or facts.loading.has_step):
        facts = replace(facts, between=between())
    return facts


def _diagnosis_of_loader(store: Store, run_id: str, loader: str) -> Diagnosis:
    facts = read_facts(store, run_id, named(loader))
    overview = overview_of(facts)
    read = partial(read_hotspots, store, run_id, loader)
    facts = _with_stacks(facts, None, overview, loading=read, between=partial(read, of="step"))
    verdict = judge(facts, overview=overview, is_of_run=False)
    if verdict.bound == "unknown" and facts.steps > facts.judged_steps and store.rows_deleted_at(run_id) is not None:
        verdict = without_figures(verdict.sentence, "retention deleted its single steps", facts.judged_steps)
    recommendation = advise(with_proven(store, facts), verdict, overview)
    found = diagnosis_of(facts, overview, verdict, recommendation, is_of_run=False)
    return found.model_copy(update={"loader": loader, "judged_at": store.now()})


def _beside_loader(
    facts: RunFacts, outside: Sequence[Action], verdict: Verdict, loaders: Sequence[LoaderLine]
) -> dict[str, object]:
    """What each gains the run if all of that goes away."""
    if not outside:
        return {}
    own = facts.judged_loader
    share = 1.0 if own is None else loop_share(own, facts.loaders)
    hours = hours_judged(verdict, loaders)
    beside = [_gaining(each, each.of_loop * share, hours.used if hours else None) for each in outside]
    sentences = " ".join(each.sentence for each in outside)
    return {"beside_loader": sentences, "beside_speedup": beside[0].speedup, "beside": beside}


def _gaining(action: Action, of_run: float, hours_used: float | None) -> BesideAction:
    """``of_run``: share of the run's time that goes away at most."""
    is_known = 0 < of_run < 1
    return BesideAction(
        title=action.title,
        detail=action.detail,
        speedup=1 / (1 - of_run) if is_known else None,
        hours_saved=of_run * hours_used if is_known and hours_used is not None else None,
    )


def name_of(facts: RunFacts) -> str | None:
    """Of the judged loader; ``None``: no loader has a step."""
    return facts.loader.loader if facts.loader else None


def diagnosis_of(
    facts: RunFacts,
    overview: Overview,
    verdict: Verdict,
    recommendation: Recommendation,
    ledger: Sequence[LedgerEntry] = (),
    *,
    is_of_run: bool = True,
) -> Diagnosis:
    """The contract's shape of what was found. ``is_of_run``: the hours are those of all its loaders."""
    loaders = [line_of(each, facts, overview.slow, verdict) for each in facts.loaders]
    slow = overview.slow
    most = most_of_one_loader(slow.judged, facts.host, verdict.bound, slow.late_in_turn) if verdict.anatomy else None
    present = at_present(recommendation, verdict.anatomy, most, verdict.causes)
    lost = within_lost(most, verdict, loaders, name_of(facts), is_of_run=is_of_run)
    present = no_more_than(present, lost, verdict.anatomy)
    paused = slow.judged.paused_fraction if verdict.anatomy else 0.0
    advice = with_run_gains(present, loaders, paused)
    outside = actions(facts, slow.judged, verdict) if verdict.anatomy else []
    beside = _beside_loader(facts, outside, verdict, loaders)
    tuning = as_it_ended(facts.tuned.tuning if facts.tuned else None, facts.status)
    first = is_outside_first(outside, advice, paused)
    why = reason_by_acts(verdict.why, verdict.causes, outside, advice, is_beside_first=first)
    beside |= {"why": why, "is_beside_first": first, "to_write": to_write(tuning)}
    return Diagnosis(
        **(dict(verdict) | beside),
        run_id=facts.run_id,
        status=facts.status,
        steps=facts.steps,
        loader=name_of(facts),
        loaders=loaders,
        needed_steps=THRESHOLDS.warmup_steps + THRESHOLDS.needed_steps,
        warmup_steps=facts.warmup_steps,
        advice=advice,
        is_lost_at_start=is_lost_at_start(verdict, facts),
        hours_saved=hours_saved(advice, verdict, loaders, name_of(facts), is_of_run=is_of_run),
        refusals=list(recommendation.refusals),
        trials=list(facts.tuned.trials) if facts.tuned else [],
        tuning=tuning,
        candidates=recommendation.candidates,
        ledger=list(ledger),
        judged_at=None,
    )
