"""A longer queue if load times vary, a shorter one if memory is low."""

from __future__ import annotations

from dataclasses import replace

from underfed_server.advice.capacity import fits_in_pass, in_flight
from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer, is_worthwhile, refuse
from underfed_server.advice.prediction.predict import Prediction, Predictor
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.advice.prediction.workload import PredictionError
from underfed_server.advice.search import cheapest, longer, longer_factors
from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.causes.too_few_workers import BUSY_FRACTION
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Evidence, Refusal

NOT_IN_TIME = (
    "no_workers", "too_few_workers", "cpu_limited", "storage_limit", "storage_wait", "slow_samples", "slow_collate",
    "thread_oversubscription",
)  # fmt: skip
"""Causes by which batches are not loaded in time."""


def consider(case: Case) -> Offer | Refusal | None:
    if not case.num_workers or not (case.waits_for_data or case.is_short_of_memory):
        return None
    try:
        return _predicted(case, case.predicting())
    except PredictionError as error:
        options = longer(case, case.recorded) if case.found("slow_samples") else []
        return _offer(case, options[0], str(error)) if options else None


def _predicted(case: Case, predictor: Predictor) -> Offer | Refusal | None:
    if case.is_short_of_memory:
        return _shorter(case, predictor)
    speeds = {setting: predictor.quick(setting) for setting in longer(case, case.recorded)}
    best = cheapest(speeds)
    if best is None or not is_worthwhile(speeds[best]):
        # A longer queue is no obvious remedy for a slow hand-over or start: nothing needs to be refused.
        return _refusal(case, max(speeds.values(), default=None)) if case.found(*NOT_IN_TIME) else None
    return _offer(case, best, predictor.predict(best))


def _shorter(case: Case, predictor: Predictor) -> Offer | None:
    """The shortest queue that is as fast: batches that wait take memory."""
    options = (replace(case.recorded, prefetch_factor=factor) for factor in range(1, case.prefetch_factor))
    fast = (option for option in options if predictor.quick(option) >= 1 - THRESHOLDS.cheapest_within_fraction)
    setting = next(fast, None)
    return _offer(case, setting, predictor.predict(setting)) if setting else None


def _offer(case: Case, setting: SimulatedSetting, gain: Prediction | str) -> Offer:
    factor, current = setting.prefetch_factor, case.prefetch_factor
    is_longer = factor > current
    why = "Load times vary: with more batches in flight a slow one is started earlier."
    return Offer(
        to=factor,
        title=(
            f"{'Raise' if is_longer else 'Lower'} prefetch_factor from "
            f"{case.current('prefetch_factor', current)} to {factor}"
        ),
        why=why if is_longer else "Fewer batches wait in memory, and the loop does not wait longer for them.",
        risk=f"Up to {in_flight(setting)} batches are in shared memory at once.",
        evidence=_evidence(case, setting),
        gain=gain,
    )


def _evidence(case: Case, setting: SimulatedSetting) -> list[Evidence]:
    rows = _spread(case)
    if case.loader.batch_bytes is not None:
        size = case.loader.batch_bytes * in_flight(setting)
        rows.append(
            Evidence(
                what=f"Batches in flight take at most, by a factor of {setting.prefetch_factor}",
                value=size,
                unit="bytes",
            )
        )
    return rows


def _spread(case: Case) -> list[Evidence]:
    return [*evidence.load_spread(case.rank), evidence.empty_queue(case.rank)]


def _why_no_room(case: Case) -> str:
    if not any(fits_in_pass(case, replace(case.recorded, prefetch_factor=factor)) for factor in longer_factors(case)):
        return f"A pass of {case.loader.batches_per_epoch} batches ends while a longer queue is still being filled."
    return "There is no room for a longer queue: of memory, of /dev/shm, or of open files."


def _refusal(case: Case, speedup: float | None) -> Refusal:
    busy = measures.busy_workers_fraction(case.rank, case.num_workers)
    if not longer_factors(case):
        why = "The queue already has the greatest length that is tried."
    elif speedup is None:
        why = _why_no_room(case)
    elif busy is None or busy >= BUSY_FRACTION:
        why = "The loop takes batches as fast as they are loaded, so a longer queue would be just as empty."
    else:
        why = "Simulated with this run's own batches, a longer queue gains less than 5%."
    simulated = Evidence(what="Speed-up with the best longer queue, simulated", value=speedup, unit="factor")
    workers = "1 worker" if case.num_workers == 1 else f"{case.num_workers} workers"
    return refuse(
        case, f"A longer queue with {workers}", why, [*_spread(case), *([simulated] if speedup is not None else [])]
    )


CHANGE = Change(
    label="prefetch factor",
    consider=consider,
    needs_cause=False,
)
