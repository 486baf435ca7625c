"""What a run and the earlier runs of its job show of each other: what advice gained, and what a replay measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Generic, TypeVar

from underfed_server.advice.catalogue import all_changes
from underfed_server.advice.loader_settings import normalised
from underfed_server.advice.proof.ledger import (
    Pairing,
    also_changed,
    carried_advice,
    compare,
    mates_changed,
    may_carry,
)
from underfed_server.advice.proof.pace import paces_of
from underfed_server.advice.proof.traits import Traits, load_changed, traits_of
from underfed_server.advice.proof.tuned import entries_of
from underfed_server.diagnosis.slow_ranks import slow_ranks
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.errors import NotFoundError
from underfed_server.facts.condense import Choose, condense
from underfed_server.facts.record import RunFacts
from underfed_server.model import Diagnosis, LedgerEntry, MeasuredReplay, Run, Setting
from underfed_server.store.store import Store

GROWTH = 1.25
"""A running run is judged once a second; what takes long is done again when the run has grown by this much."""


T = TypeVar("T")


class Remembered(Generic[T]):
    """What takes long to compute, of each running run. Called on one thread."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, object, T]] = {}

    def of(self, facts: RunFacts, basis: object, compute: Callable[[], T]) -> T:
        """Computed again when the run has grown by :data:`GROWTH` or ended, or ``basis`` has changed."""
        last = self._known.pop(facts.run_id, None)
        is_running = facts.status == "running"
        if last is None or not is_running or last[1] != basis or facts.steps >= last[0] * GROWTH:
            last = facts.steps, basis, compute()
        if is_running:
            self._known[facts.run_id] = last
        return last[2]


def read_facts(store: Store, run_id: str, choose: Choose) -> RunFacts:
    """Of the steps that a verdict is judged by."""
    limits = {"warmup_steps": THRESHOLDS.warmup_steps, "judged_steps": THRESHOLDS.judged_steps}
    return condense(store, run_id, choose=choose, **limits)


MOST_PROVEN = 50
"""The newest gains on a host: what machines and jobs were like long ago says less."""


def with_proven(store: Store, facts: RunFacts) -> RunFacts:
    """``facts`` with what advice and trials gained on the same host, beside what was predicted for them."""
    here = {rank.hostname for rank in facts.ranks if rank.hostname is not None}
    found = [
        math.log(each.observed / each.predicted)
        for each in store.observed(here, MOST_PROVEN)
        if facts.run_id not in each.run_ids
    ]
    return replace(facts, proven=tuple(found))


def named(loader: str | None) -> Choose:
    """Chooses this loader; one that the run has not got has no step and no facts."""
    return lambda _loaders, _status: loader


def ledger_of(
    store: Store, facts: RunFacts, pairing: Pairing | None, known: Diagnosis | None
) -> tuple[LedgerEntry, ...]:
    """What this run shows of the advice that it carries, of what it tuned itself, then what later runs showed of the
    advice for it.

    ``known`` is its last diagnosis.
    """
    of_later = [each for each in known.ledger if each.advice_of == facts.run_id != each.run_id] if known else []
    carrying = _with_loader(store, facts, pairing.loader) if pairing else None
    shown = [compare(carrying, pairing)] if carrying and pairing else _shown_before(store, facts, known)
    return (*shown, *_tuned(facts, known), *of_later)


def _tuned(facts: RunFacts, known: Diagnosis | None) -> list[LedgerEntry]:
    """With the leading cause of before: that of its last diagnosis, until there is an entry that has it."""
    if facts.tuned is None:
        return []
    own = [each.cause for each in known.ledger if each.advice_of == facts.run_id == each.run_id] if known else []
    now = known.causes[0].cause if known and known.causes else None
    found = entries_of(facts.tuned.tuning, facts.tuned.trials, facts.run_id, now)
    return [each.model_copy(update={"cause": cause}) for each, cause in zip(found, own, strict=False)] + found[
        len(own) :
    ]


def add_to_ledgers(store: Store, ended: Diagnosis) -> None:
    """Put what an ended run showed into the diagnosis of the run whose advice it carried."""
    for entry in ended.ledger:
        earlier = store.diagnosis(entry.advice_of) if entry.run_id == ended.run_id != entry.advice_of else None
        if earlier:
            others = [one for one in earlier.ledger if one.run_id != ended.run_id]
            store.save_diagnosis(earlier.model_copy(update={"ledger": [*others, entry]}))


def _shown_before(store: Store, facts: RunFacts, known: Diagnosis | None) -> list[LedgerEntry]:
    """What this run showed before retention deleted the steps that it was compared with."""
    entries = [each for each in known.ledger if each.run_id == facts.run_id != each.advice_of] if known else []
    return [entry for entry in entries if store.rows_deleted_at(entry.advice_of) is not None]


def find_pairing(store: Store, facts: RunFacts) -> Pairing | None:
    """With the run that ``--apply`` named, else with the newest earlier one of the job whose advice is carried."""
    found = (_pair(store, facts, earlier) for earlier in _candidates(store, facts))
    return next((pairing for pairing in found if pairing), None)


def _with_loader(store: Store, facts: RunFacts, loader: str | None) -> RunFacts | None:
    """Of the loader that the advice was for: the one of that name, or the only one. ``None``: the run has none such."""
    own = facts.loader.loader if facts.loader else None
    used = [each.loader for each in facts.loaders if each.steps]
    if loader == own or loader is None or used == [own]:
        return facts
    return read_facts(store, facts.run_id, named(loader)) if loader in used else None


def _candidates(store: Store, facts: RunFacts) -> Iterator[Diagnosis]:
    """Earlier runs that were advised something, as they were last judged."""
    # Both diagnoses are written: whoever may send windows to one project must not write into another.
    named = [facts.advice_of] if facts.advice_of and _is_beside(store, facts.run_id, facts.advice_of) else []
    for run_id in dict.fromkeys([*named, *(run.run_id for run in store.earlier_runs(facts.run_id))]):
        diagnosis = _known(store, run_id)
        if diagnosis and diagnosis.advice and run_id != facts.run_id:
            yield diagnosis


def _is_beside(store: Store, run_id: str, other: str) -> bool:
    """The other run exists, and is of the same project."""
    try:
        return store.project_of(other) == store.project_of(run_id)
    except NotFoundError:
        return False


def _known(store: Store, run_id: str) -> Diagnosis | None:
    try:
        return store.diagnosis(run_id)
    except NotFoundError:
        return None  # deleted, or of another service


def _pair(store: Store, facts: RunFacts, diagnosis: Diagnosis) -> Pairing | None:
    carrying = _with_loader(store, facts, diagnosis.loader)
    possible = [advice for advice in diagnosis.advice if carrying and may_carry(carrying.settings, advice)]
    if not possible or carrying is None:
        return None
    before = read_facts(store, diagnosis.run_id, named(diagnosis.loader))
    if not before.judged_steps:
        return None  # retention deleted the steps to compare with
    earlier, later = _traits(store, before), _traits(store, carrying)
    advice = carried_advice(earlier, later, possible)
    if advice is None:
        return None
    return Pairing(
        advice_of=diagnosis.run_id,
        loader=diagnosis.loader,
        cause=diagnosis.causes[0].cause if diagnosis.causes else None,
        advice=advice,
        paces=paces_of(before),
        also_changed=(
            *also_changed(earlier, later, advice),
            *mates_changed(before, carrying),
            *load_changed(earlier, later, alters_work=all_changes()[advice.change].alters_work),
        ),
    )


def _traits(store: Store, facts: RunFacts) -> Traits:
    run = store.run(facts.run_id)
    cpu_model = run.hosts[0].cpu_model if run.hosts else None
    machine = {"world_size": run.world_size, "cpu_model": cpu_model, "gpu_name": run.gpu_name}
    return traits_of(facts, machine, has_straggler=bool(facts.judged_steps and slow_ranks(facts.ranks).stragglers))


def measured_replay(store: Store, run_id: str) -> MeasuredReplay | None:
    """What ``underfed run --replay`` measured for the run, else for the newest run of its job with the same settings.

    ``None``: neither was measured.

    Raises:
        NotFoundError: there is no such run.
    """
    others = store.replays(run_id)
    if not others:
        return None
    settings = _settings_by_loader(store.run(run_id))
    runs = (store.run(other) for other in others)
    same = (run for run in runs if run.run_id == run_id or _settings_by_loader(run) == settings)
    return next((_measured(run) for run in same), None)


def add_replay(store: Store, run_id: str) -> None:
    """Put what an ended run measured into the diagnosis of the newest earlier run with the same settings."""
    run = store.run(run_id)
    if run.replay is None:
        return
    for earlier in store.earlier_runs(run_id):
        diagnosis = store.diagnosis(earlier.run_id)
        if diagnosis and _settings_by_loader(store.run(earlier.run_id)) == _settings_by_loader(run):
            store.save_diagnosis(diagnosis.model_copy(update={"replay": _measured(run)}))
            return


def _measured(run: Run) -> MeasuredReplay | None:
    return MeasuredReplay(run_id=run.run_id, **dict(run.replay)) if run.replay else None


def _settings_by_loader(run: Run) -> dict[str, dict[str, Setting]]:
    return {info.loader: normalised(info.settings) for info in run.loaders}
