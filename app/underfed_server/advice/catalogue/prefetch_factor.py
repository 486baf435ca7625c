"""``prefetch_factor``: a longer queue pays only where load times vary, so that slow batches are begun earlier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from underfed_server.advice.case import Case
from underfed_server.advice.cures import LOADING
from underfed_server.advice.diff import diff_of
from underfed_server.advice.memory import fits, in_flight
from underfed_server.advice.offer import Offer, is_worthwhile, offer_predicted, offer_unpredicted
from underfed_server.advice.predict import Predictor
from underfed_server.advice.replay import PredictionError
from underfed_server.advice.search import cheapest, longer_factors
from underfed_server.advice.simulate import LoaderSetting
from underfed_server.diagnosis import measures
from underfed_server.diagnosis.limits import LIMITS
from underfed_server.model import Advice, Evidence, Refusal


def consider(case: Case) -> Sequence[Advice | Refusal]:
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


def _longer(case: Case) -> list[LoaderSetting]:
    options = [replace(case.recorded, prefetch_factor=factor) for factor in longer_factors(case)]
    return [option for option in options if fits(case, option)]


def _shorter(case: Case, predictor: Predictor) -> list[Advice | Refusal]:
    """The shortest queue that is as fast: batches that lie ready are memory."""
    options = (replace(case.recorded, prefetch_factor=factor) for factor in range(1, case.prefetch_factor))
    fast = (option for option in options if predictor.quick(option) >= 1 - LIMITS.cheapest_within_fraction)
    setting = next(fast, None)
    return [offer_predicted(case, predictor.predict(setting), _offer(case, setting))] if setting else []


def _without_prediction(case: Case, obstacle: str | None) -> list[Advice | Refusal]:
    options = _longer(case)
    if case.found("slow_samples") is None or not options:
        return []
    return [offer_unpredicted(case, _offer(case, options[0]), obstacle)]


def _would_be_tried(case: Case) -> bool:
    """Where batches are not loaded in time; nobody seeks the help of a queue against a slow hand-over or start."""
    return case.found(*LOADING, "slow_samples", "slow_collate", "thread_oversubscription") is not None


def _offer(case: Case, setting: LoaderSetting) -> Offer:
    factor, current = setting.prefetch_factor, case.prefetch_factor
    is_longer = factor > current
    why = "Load times vary: with more batches in flight a slow one is begun earlier."
    return Offer(
        change="prefetch_factor",
        to=factor,
        title=f"{'Raise' if is_longer else 'Lower'} prefetch_factor from {current} to {factor}",
        why=why if is_longer else "Fewer batches lie ready in memory, and the loop waits no longer for them.",
        risk=f"Up to {in_flight(setting)} batches lie in shared memory at once.",
        diff=diff_of(case.loader, {"prefetch_factor": factor}, case.facts.overrides),
        evidence=_evidence(case, setting),
        settings={"prefetch_factor": factor},
    )


def _evidence(case: Case, setting: LoaderSetting) -> list[Evidence]:
    rows = _spread(case)
    if case.loader.batch_bytes is not None:
        size = case.loader.batch_bytes * in_flight(setting)
        rows.append(Evidence(what="Batches in flight take at most", value=size, unit="bytes"))
    return rows


def _spread(case: Case) -> list[Evidence]:
    load = case.rank.batches.load_us[np.isfinite(case.rank.batches.load_us)]
    median, slow = (float(np.percentile(load, share)) if len(load) else None for share in (50, 95))
    empty = measures.empty_queue_fraction(case.rank)
    return [
        Evidence(what="Loading a batch, median", value=median, unit="us", series="load_us"),
        Evidence(what="Loading a batch, slowest 5%", value=slow, unit="us"),
        Evidence(what="Requests that found no batch ready", value=empty, unit="fraction", series="queue_depth"),
    ]


def _refusal(case: Case, speedup: float | None) -> Refusal:
    if speedup is None:
        why = "A longer queue has no room, or is as long already as a queue can help."
    else:
        why = "A longer queue holds no more: it is emptied as fast as it is filled, however long it is."
    simulated = Evidence(what="Speed-up with the best longer queue, simulated", value=speedup, unit="factor")
    return Refusal(
        change="prefetch_factor",
        title="A longer queue",
        why=why,
        evidence=[*_spread(case), *([simulated] if speedup is not None else [])],
    )
