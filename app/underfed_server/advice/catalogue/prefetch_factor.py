"""``prefetch_factor``: a longer queue pays only where load times vary, so that slow batches are begun earlier."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from underfed_server.advice.case import Case
from underfed_server.advice.memory import most_batches_in_shm
from underfed_server.advice.offer import Wording, offer_predicted
from underfed_server.advice.simulate import LoaderSetting
from underfed_server.diagnosis import measures
from underfed_server.diagnosis.limits import LIMITS
from underfed_server.model import Advice, Evidence, Refusal

LONGER = (4, 8)
"""Twice and four times torch's default of 2: beyond, memory grows and the study saw no further gain."""


def consider(case: Case) -> Sequence[Advice | Refusal]:
    workers, predictor = case.loader.num_workers, case.predictor
    options = _options(case)
    if predictor is None or not workers or not options:
        return []
    speeds = {factor: predictor.quick(LoaderSetting(workers, factor)) for factor in options}
    enough = max(speeds.values()) * (1 - LIMITS.cheapest_within_fraction)
    factor = min(option for option, speed in speeds.items() if speed >= enough)
    if speeds[factor] < LIMITS.worthwhile_speedup:
        return []
    prediction = predictor.predict(LoaderSetting(workers, factor))
    return [
        offer_predicted(case, predictor, prediction, change="prefetch_factor", to=factor, wording=_word(case, factor))
    ]


def _options(case: Case) -> list[int]:
    current, workers = case.loader.prefetch_factor or 2, case.loader.num_workers or 0
    fits = most_batches_in_shm(case)
    return [factor for factor in LONGER if factor > current and (fits is None or factor * workers <= fits)]


def _word(case: Case, factor: int) -> Wording:
    load = case.rank.batches.load_us[np.isfinite(case.rank.batches.load_us)]
    empty = measures.empty_queue_fraction(case.rank)
    return Wording(
        title=f"Raise prefetch_factor from {case.loader.prefetch_factor or 2} to {factor}",
        why="Load times vary: with more batches in flight a slow one is begun earlier.",
        risk=f"Up to {factor * (case.loader.num_workers or 0)} batches lie in shared memory at once.",
        evidence=[
            Evidence(what="Loading a batch, median", value=float(np.median(load)), unit="us", series="load_us"),
            Evidence(what="Loading a batch, slowest 5%", value=float(np.percentile(load, 95)), unit="us"),
            Evidence(what="Requests that found no batch ready", value=empty, unit="fraction", series="queue_depth"),
        ],
    )
