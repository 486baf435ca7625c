"""Reads runs from the store and compares each with the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from underfed_server.comparison.against import Against
from underfed_server.comparison.cautions import cautions_of
from underfed_server.comparison.differences import settings_of
from underfed_server.comparison.hotspots import hotspots_of
from underfed_server.comparison.side import Side, common_basis, labels_of, measure
from underfed_server.comparison.wording import Compared, Per, headline
from underfed_server.diagnosis.sentence import not_judged_yet
from underfed_server.diagnosis.slow_ranks import reported_rank
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.hotspots import read_hotspots
from underfed_server.facts.loaders import read_steps
from underfed_server.model import ComparedRun, Comparison, Diagnosis, EpochStart, LedgerEntry, Run, RunSummary
from underfed_server.store.store import Store


def read_comparison(store: Store, run_ids: Sequence[str]) -> Comparison:
    """Compare at least two runs, each named once.

    Raises:
        NotFoundError: there is no such run.
    """
    runs = [store.run(run_id) for run_id in run_ids]
    return compare_sides([_read_side(store, run, label) for run, label in zip(runs, labels_of(runs), strict=True)])


def compare_sides(sides: Sequence[Side]) -> Comparison:
    """Every run is measured by the same kind of steps, so that all figures can be compared."""
    basis = common_basis([side.steps for side in sides if side.steps])
    measured = [measure(side.steps, basis) if side.steps else None for side in sides]
    per: Per = "samples" if len({side.batch_size for side in sides} - {None}) > 1 else "steps"
    all_of_them = [Compared(side, each, per) for side, each in zip(sides, measured, strict=True)]
    baseline, others = all_of_them[0], all_of_them[1:]
    found = [each.compared_with(baseline) for each in others]
    return Comparison(
        sentence=headline(baseline, list(zip(others, found, strict=True))),
        basis=basis,
        per=per,
        runs=[_compared_run(each, baseline, one) for each, one in zip(all_of_them, [None, *found], strict=True)],
        cautions=cautions_of(sides, found),
        settings=settings_of(sides),
        hotspots=hotspots_of(sides, per),
        ledger=_ledger(sides),
    )


def _read_side(store: Store, run: Run, label: str) -> Side:
    diagnosis = store.diagnosis(run.run_id)
    loader = diagnosis.loader if diagnosis else None
    if diagnosis is None or diagnosis.bound == "unknown" or loader is None:
        reason = _unjudged(run, diagnosis)
        return Side(run, label, diagnosis, None, reason, why_unsampled=reason)
    rank = reported_rank(diagnosis.ranks)
    rank = min(run.ranks, default=0) if rank is None else rank
    limits = {"warmup_steps": THRESHOLDS.warmup_steps, "judged_steps": THRESHOLDS.judged_steps}
    steps = read_steps(store, run.run_id, rank, loader, **limits)
    epochs = tuple(
        EpochStart(epoch_index=each.epoch_index, first_step_index=each.first_step_index) for each in steps.epochs
    )
    why_not = None
    if len(steps.steps) < THRESHOLDS.needed_steps:
        are_deleted = store.rows_deleted_at(run.run_id) is not None
        why_not = "retention deleted its single steps" if are_deleted else "it has too few steps"
    # For how long they took to load: shares of loading become time by it.
    steps = replace(steps, batches=store.batches(run.run_id, rank, loader, last=THRESHOLDS.judged_steps))
    sampled = read_hotspots(store, run.run_id, loader)
    return Side(run, label, diagnosis, None if why_not else steps, why_not, epochs, sampled.samples, sampled.missing)


def _unjudged(run: Run, diagnosis: Diagnosis | None) -> str:
    reason = diagnosis.reason if diagnosis else None
    return reason or f"it has no verdict after {run.steps:,} steps"


def _compared_run(one: Compared, baseline: Compared, found: Against | None) -> ComparedRun:
    side, measured = one.side, one.measured
    step_s = measured.pace.step_us / 1e6 if measured else None
    batch = side.batch
    return ComparedRun(
        # A whole ``Run`` holds more than a comparison needs.
        run=RunSummary.model_validate(side.run.model_dump(include=set(RunSummary.model_fields), by_alias=True)),
        label=side.label,
        verdict=side.diagnosis.sentence if side.diagnosis else not_judged_yet(side.run.status, side.run.steps)[0],
        sentence=None if one is baseline else one.sentence(baseline, found),
        speed=found.speed if found else None,
        why_not=one.why_not,
        anatomy=measured.anatomy if measured else None,
        steps_per_s=1 / step_s if step_s else None,
        samples_per_s=batch / step_s if step_s and batch else None,
        batch_samples=batch,
        epochs=list(side.epochs),
        hotspots_missing=side.why_unsampled,
    )


def _ledger(sides: Sequence[Side]) -> list[LedgerEntry]:
    """Each entry once, though both of its runs list it."""
    ids = {side.run.run_id for side in sides}
    known = [entry for side in sides if side.diagnosis for entry in side.diagnosis.ledger]
    among = [entry for entry in known if {entry.run_id, entry.advice_of} <= ids]
    return list({(entry.advice_of, entry.run_id, entry.change): entry for entry in among}.values())
