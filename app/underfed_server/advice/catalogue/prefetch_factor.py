"""A longer queue where load times vary, a shorter one where memory is short."""

from __future__ import annotations

from dataclasses import replace

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change, Outcomes
from underfed_server.advice.diff import diff_of
from underfed_server.advice.memory import fits, in_flight
from underfed_server.advice.offer import Offer, is_worthwhile, offer_predicted, offer_unpredicted, refuse
from underfed_server.advice.prediction.predict import Predictor
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.advice.prediction.workload import PredictionError
from underfed_server.advice.search import cheapest, longer_factors
from underfed_server.diagnosis import evidence
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Advice, Evidence, Refusal

NOT_IN_TIME = (
    "no_workers", "too_few_workers", "cpu_limited", "storage_wait", "slow_samples", "slow_collate",
    "thread_oversubscription",
)  # fmt: skip


def consider(case: Case) -> Outcomes:
    if not case.num_workers or not (case.waits_for_data or case.is_short_of_memory):
        return []
    if case.predictor is None:
        return _without_prediction(case, case.obstacle)
    try:
        return _with_prediction(case, case.predictor)
    except PredictionError as error:
        return _without_prediction(case, str(error))


def _with_prediction(case: Case, predictor: Predictor) -> list[Advice | Refusal]:
    if case.is_short_of_memory:
        return _shorter(case, predictor)
    speeds = {setting: predictor.quick(setting) for setting in _longer(case)}
    best = cheapest(speeds)
    if best is None or not is_worthwhile(speeds[best]):
        return [_refusal(case, max(speeds.values(), default=None))] if _would_be_tried(case) else []
    return [offer_predicted(case, predictor.predict(best), _offer(case, best))]


def _longer(case: Case) -> list[SimulatedSetting]:
    options = [replace(case.recorded, prefetch_factor=factor) for factor in longer_factors(case)]
    return [option for option in options if fits(case, option)]


def _shorter(case: Case, predictor: Predictor) -> list[Advice | Refusal]:
    """The shortest queue that is as fast: batches that wait take memory."""
    options = (replace(case.recorded, prefetch_factor=factor) for factor in range(1, case.prefetch_factor))
    fast = (option for option in options if predictor.quick(option) >= 1 - THRESHOLDS.cheapest_within_fraction)
    setting = next(fast, None)
    return [offer_predicted(case, predictor.predict(setting), _offer(case, setting))] if setting else []


def _without_prediction(case: Case, obstacle: str | None) -> list[Advice | Refusal]:
    options = _longer(case)
    if case.found("slow_samples") is None or not options:
        return []
    return [offer_unpredicted(case, _offer(case, options[0]), obstacle)]


def _would_be_tried(case: Case) -> bool:
    """Where batches are not loaded in time: against a slow hand-over or start nobody tries a longer queue."""
    return case.found(*NOT_IN_TIME) is not None


def _offer(case: Case, setting: SimulatedSetting) -> Offer:
    factor, current = setting.prefetch_factor, case.prefetch_factor
    is_longer = factor > current
    why = "Load times vary: with more batches in flight a slow one is started earlier."
    return Offer(
        to=factor,
        title=f"{'Raise' if is_longer else 'Lower'} prefetch_factor from {current} to {factor}",
        why=why if is_longer else "Fewer batches wait in memory, and the loop waits no longer for them.",
        risk=f"Up to {in_flight(setting)} batches are in shared memory at once.",
        diff=diff_of(case.loader, {"prefetch_factor": factor}, case.facts.overrides),
        evidence=_evidence(case, setting),
        settings={"prefetch_factor": factor},
    )


def _evidence(case: Case, setting: SimulatedSetting) -> list[Evidence]:
    rows = _spread(case)
    if case.loader.batch_bytes is not None:
        size = case.loader.batch_bytes * in_flight(setting)
        rows.append(Evidence(what="Batches in flight take at most", value=size, unit="bytes"))
    return rows


def _spread(case: Case) -> list[Evidence]:
    return [*evidence.load_spread(case.rank), evidence.empty_queue(case.rank)]


def _refusal(case: Case, speedup: float | None) -> Refusal:
    if speedup is None:
        why = "There is no room for a longer queue, or the queue is as long already as helps."
    else:
        why = "The loop takes batches as fast as they are loaded, so a longer queue would be just as empty."
    simulated = Evidence(what="Speed-up with the best longer queue, simulated", value=speedup, unit="factor")
    return refuse(case, "A longer queue", why, [*_spread(case), *([simulated] if speedup is not None else [])])


CHANGE = Change(
    label="prefetch factor",
    consider=consider,
)
