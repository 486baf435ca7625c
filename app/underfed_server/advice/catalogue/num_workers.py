"""``num_workers``: how many worker processes load beside the training loop, found by simulating this run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from underfed_server.advice.case import Case
from underfed_server.advice.memory import most_batches_in_shm
from underfed_server.advice.offer import Wording, offer_predicted, offer_unpredicted, predicted_step_us
from underfed_server.advice.predict import Prediction, Predictor
from underfed_server.advice.simulate import LoaderSetting
from underfed_server.diagnosis import measures
from underfed_server.diagnosis.limits import LIMITS
from underfed_server.facts.record import LoaderFacts
from underfed_server.model import Advice, Evidence, Refusal

MOST_WORKERS = 64
"""Beyond this the round robin of one training thread is the limit (Lotus: gains flatten beyond about 20)."""

WORKERS_A_CORE_WHEN_BLOCKED = 4
"""Workers that mostly wait for storage may outnumber the cores; CPU-bound ones may not."""

STEPS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64)


def consider(case: Case) -> Sequence[Advice | Refusal]:
    if case.loader.num_workers is None:
        return []
    if case.predictor is None:
        return _without_prediction(case)
    best = find_setting(case, case.predictor)
    if best is None or best.speedup < LIMITS.worthwhile_speedup:
        return [_refusal(case, case.predictor)]
    if best.setting.num_workers <= case.loader.num_workers:
        return []
    number = best.setting.num_workers
    wording = Wording(_title(case.loader, number), _why(case, best), _risk(case.loader), _evidence(case))
    return [offer_predicted(case, case.predictor, best, change="num_workers", to=number, wording=wording)]


def find_setting(case: Case, predictor: Predictor) -> Prediction | None:
    """The cheapest number of workers within 2 % of the fastest; ``None``: there is no other to choose."""
    prefetch = case.loader.prefetch_factor or 2
    speeds = {number: predictor.quick(LoaderSetting(number, prefetch)) for number in candidates(case)}
    if not speeds:
        return None
    enough = max(speeds.values()) * (1 - LIMITS.cheapest_within_fraction)
    cheapest = min(number for number, speed in speeds.items() if speed >= enough)
    return predictor.predict(LoaderSetting(cheapest, prefetch))


def candidates(case: Case) -> list[int]:
    """Numbers of workers this run may use: bounded by its cores, by /dev/shm, and by what one loop can feed."""
    most = _most_workers(case)
    return [number for number in STEPS if number <= most and number != case.loader.num_workers]


def _most_workers(case: Case) -> int:
    usable = case.facts.host.usable_cores or 1.0
    blocked = measures.load_share(case.rank, case.rank.batches.blocked_us) or 0.0
    a_core = WORKERS_A_CORE_WHEN_BLOCKED if blocked >= LIMITS.blocked_fraction else 1
    most = min(MOST_WORKERS, max(1, math.floor(usable)) * a_core)
    in_shm = most_batches_in_shm(case)
    return most if in_shm is None else min(most, in_shm // (case.loader.prefetch_factor or 2))


def _without_prediction(case: Case) -> list[Advice | Refusal]:
    """Workers that keep up by Little's law, without a promise of what they gain."""
    load = measures.mean(case.rank.batches.load_us)
    own = case.rank.step_us - case.rank.data_wait_us
    options = candidates(case)
    if load is None or not options:
        return []
    needed = math.ceil(load / max(own, 1.0))
    number = min((option for option in options if option >= needed), default=options[-1])
    if number <= (case.loader.num_workers or 0):
        return []
    why = f"So many workers load as fast as the loop takes batches. The gain cannot be predicted: {case.obstacle}."
    wording = Wording(_title(case.loader, number), why, _risk(case.loader), _evidence(case))
    settings = {"num_workers": number, "prefetch_factor": case.loader.prefetch_factor or 2}
    return [offer_unpredicted(case, change="num_workers", to=number, settings=dict(settings), wording=wording)]


def _refusal(case: Case, predictor: Predictor) -> Refusal:
    usable = case.facts.host.usable_cores or 0.0
    used = measures.used_cores_fraction(case.rank, case.facts.host)
    if used is not None and used >= LIMITS.saturated_cores_fraction:
        why = f"The {usable:g} cores this run may use are already busy."
    else:
        why = "Simulated with this run's own batches, no number of them gains 5% or more."
    return Refusal(
        change="num_workers",
        title="More workers",
        why=why,
        evidence=[
            Evidence(what="Cores in use", value=measures.used_cores(case.rank), unit="cores", series="busy_cores"),
            Evidence(what="Cores this run may use", value=usable, unit="cores"),
            Evidence(what="Speed-up with instant data", value=predictor.ceiling, unit="factor"),
        ],
    )


def _title(loader: LoaderFacts, number: int) -> str:
    return f"Raise num_workers from {loader.num_workers} to {number}"


def _why(case: Case, best: Prediction) -> str:
    number = best.setting.num_workers
    workers = "1 worker loads" if number == 1 else f"{number} workers load"
    how = "as fast as the loop takes batches" if case.loader.num_workers else "beside the training loop, not in turn"
    text = f"{workers} {how}."
    if predicted_step_us(case, best) > 1.05 * (case.rank.step_us - case.rank.data_wait_us):
        text += f" Then the {case.facts.host.usable_cores or 0.0:g} cores this run may use are the limit."
    return text


def _evidence(case: Case) -> list[Evidence]:
    rank, host = case.rank, case.facts.host
    load, cpu = measures.mean(rank.batches.load_us), measures.mean(rank.batches.cpu_us)
    return [
        Evidence(what="Loading one batch takes", value=load, unit="us", series="load_us"),
        Evidence(what="The loop could take one every", value=rank.step_us - rank.data_wait_us, unit="us"),
        Evidence(what="CPU time to load one", value=cpu, unit="us", series="cpu_us"),
        Evidence(what="Cores this run may use", value=host.usable_cores, unit="cores"),
        Evidence(what="Of these used by others", value=measures.other_cores(rank.process), unit="cores"),
    ]


def _risk(loader: LoaderFacts) -> str:
    if loader.is_iterable:
        return "Only if the dataset shards itself by worker: otherwise every worker yields every sample."
    risk = "Each worker holds its own copy of the dataset object in memory."
    if not loader.num_workers:
        risk += " Batches keep their order; random augmentation draws from the workers' own seeds."
    return risk
