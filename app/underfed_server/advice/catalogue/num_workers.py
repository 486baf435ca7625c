"""``num_workers``: how many worker processes load beside the training loop, and how far ahead, found by simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from underfed_server.advice.case import Case
from underfed_server.advice.cores import cpu_us
from underfed_server.advice.diff import diff_of
from underfed_server.advice.memory import fits, in_flight, left_bytes, worker_bytes
from underfed_server.advice.offer import (
    Offer,
    is_worthwhile,
    offer_predicted,
    offer_unpredicted,
    predicted_step_us,
)
from underfed_server.advice.predict import Prediction, Predictor
from underfed_server.advice.replay import PredictionError
from underfed_server.advice.search import find_setting, is_unsharded, numbers, with_workers
from underfed_server.advice.simulate import LoaderSetting
from underfed_server.diagnosis import measures
from underfed_server.diagnosis.limits import LIMITS
from underfed_server.model import Advice, Evidence, Refusal, Setting


def consider(case: Case) -> Sequence[Advice | Refusal]:
    if case.loader.num_workers is None or not (case.waits_for_data or case.is_short_of_memory):
        return []
    if case.predictor is None:
        return _without_prediction(case, case.obstacle)
    try:
        return _with_prediction(case, case.predictor)
    except PredictionError as error:
        return _without_prediction(case, str(error))


def _with_prediction(case: Case, predictor: Predictor) -> list[Advice | Refusal]:
    faster = find_setting(case, predictor) if case.waits_for_data else None
    best = predictor.predict(faster) if faster else None
    if best is not None and is_worthwhile(best.speedup):
        return [offer_predicted(case, best, _offer(case, best.setting, _why(case, best)))]
    fewer = _as_fast_with_fewer(case, predictor) if case.is_short_of_memory else None
    if fewer is not None:
        return [offer_predicted(case, fewer, _offer(case, fewer.setting, _why_fewer(case, fewer.setting)))]
    return [_refusal(case, predictor)] if case.waits_for_data else []


def _as_fast_with_fewer(case: Case, predictor: Predictor) -> Prediction | None:
    """For a run that is short of memory; ``None``: it needs all its workers."""
    fewer = [with_workers(case, number) for number in numbers(case) if number < case.num_workers]
    fast = (setting for setting in fewer if predictor.quick(setting) >= 1 - LIMITS.cheapest_within_fraction)
    setting = next(fast, None)
    return predictor.predict(setting) if setting else None


def _without_prediction(case: Case, obstacle: str | None) -> list[Advice | Refusal]:
    """Workers that keep up by Little's law, without a promise of what they gain."""
    load = measures.mean(case.rank.batches.load_us)
    own = case.rank.step_us - case.rank.data_wait_us
    options = [with_workers(case, number) for number in numbers(case) if number > case.num_workers]
    options = [setting for setting in options if fits(case, setting)]
    if load is None or not options or not case.waits_for_data:
        return []
    needed = math.ceil(load / max(own, 1.0))
    setting = next((option for option in options if option.num_workers >= needed), options[-1])
    why = "So many workers load as fast as the loop takes batches, if there are cores for them."
    return [offer_unpredicted(case, _offer(case, setting, why), obstacle)]


def _offer(case: Case, setting: LoaderSetting, why: str) -> Offer:
    number, current = setting.num_workers, case.num_workers
    changed: dict[str, Setting] = {"num_workers": number, "prefetch_factor": setting.prefetch_factor}
    in_code: dict[str, Setting] = {"num_workers": number}
    if not number:
        in_code |= {name: None for name in ("prefetch_factor", "persistent_workers") if case.loader.settings.get(name)}
    elif setting.prefetch_factor != case.prefetch_factor:
        in_code["prefetch_factor"] = setting.prefetch_factor
    return Offer(
        change="num_workers",
        to=number,
        title=f"{'Raise' if number > current else 'Lower'} num_workers from {current} to {number}",
        why=why,
        risk=_risk(case, number),
        diff=diff_of(case.loader, in_code, case.facts.overrides),
        evidence=_evidence(case, setting),
        settings=changed,
    )


def _why(case: Case, best: Prediction) -> str:
    number, current = best.setting.num_workers, case.num_workers
    if not number:
        return _why_none(case)
    if number < current:
        return f"{_workers(number)} faster than {current}: more of them take each other's cores."
    keeps_up = predicted_step_us(case, best) <= 1.05 * (case.rank.step_us - case.rank.data_wait_us)
    if keeps_up:
        how = "as fast as the loop takes batches" if current else "beside the training loop, not in turn"
    else:
        how = "more batches at once" if current else "beside the training loop, though not as fast as it takes them"
    text = f"{_workers(number)} {how}."
    if best.setting.prefetch_factor > case.prefetch_factor:
        text += " Load times vary: with longer queues a slow batch is begun earlier."
    if not keeps_up and _fills_cores(case, best):
        text += f" Then the {case.facts.host.usable_cores or 0.0:g} cores this run may use are the limit."
    return text


def _why_none(case: Case) -> str:
    """Whatever costs most of what goes with the workers."""
    found = case.found("ipc_copy", "worker_startup", "pin_thread")
    if found is not None and found.cause == "worker_startup":
        return "Starting workers anew in each epoch takes longer than they save: the training process loads as fast."
    return "Handing batches over from a worker takes longer than loading them in the training process."


def _fills_cores(case: Case, best: Prediction) -> bool:
    needed, usable = cpu_us(case), case.facts.host.usable_cores
    if needed is None or not usable:
        return False
    cores = needed / predicted_step_us(case, best) + (measures.other_cores(case.rank.process) or 0.0)
    return cores >= LIMITS.saturated_cores_fraction * usable


def _why_fewer(case: Case, setting: LoaderSetting) -> str:
    if not setting.num_workers:
        return "The training process loads as fast by itself, and the memory of the workers is free."
    return f"{_workers(setting.num_workers)} as fast as {case.num_workers} do, and the others' memory is free."


def _workers(number: int) -> str:
    return "1 worker loads" if number == 1 else f"{number} workers load"


def _risk(case: Case, number: int) -> str:
    if not number:
        return "Loading then adds to each step again: where the data or the machine change, measure anew."
    if number < case.num_workers:
        return "Batches keep their order; random augmentation draws from other workers' seeds."
    if case.loader.is_iterable and case.loader.shards is None:
        return "Only if the dataset shards itself by worker: otherwise every worker yields every sample."
    risk = "Each worker holds its own copy of the dataset object in memory."
    if (case.rank.process.threads or 0) > 1 and case.loader.settings.get("multiprocessing_context") in (None, "fork"):
        risk += " Workers are forked: a lock that another thread holds at that moment stays locked in them."
    if not case.num_workers:
        risk += " Batches keep their order; random augmentation draws from the workers' own seeds."
    return risk


def _evidence(case: Case, setting: LoaderSetting) -> list[Evidence]:
    rank, host = case.rank, case.facts.host
    load, cpu = measures.mean(rank.batches.load_us), measures.mean(rank.batches.cpu_us)
    rows = [
        Evidence(what="Loading one batch takes", value=load, unit="us", series="load_us"),
        Evidence(what="The loop could take one every", value=rank.step_us - rank.data_wait_us, unit="us"),
        Evidence(what="CPU time to load one", value=cpu, unit="us", series="cpu_us"),
        Evidence(what="Cores this run may use", value=host.usable_cores, unit="cores"),
        Evidence(what="Of these used by others", value=measures.other_cores(rank.process), unit="cores"),
    ]
    own, batch, left = worker_bytes(case), case.loader.batch_bytes, left_bytes(host)
    if own is not None:
        rows.append(Evidence(what="Memory of one worker", value=own, unit="bytes"))
    if batch is not None and setting.num_workers:
        rows.append(Evidence(what="Batches in flight take at most", value=batch * in_flight(setting), unit="bytes"))
    if left is not None:
        rows.append(Evidence(what="Memory this run may still take", value=left, unit="bytes"))
    return rows


def _refusal(case: Case, predictor: Predictor) -> Refusal:
    usable = case.facts.host.usable_cores or 0.0
    return Refusal(
        change="num_workers",
        title="More workers",
        why=_why_not(case, usable),
        evidence=[
            Evidence(what="Cores in use", value=measures.used_cores(case.rank), unit="cores", series="busy_cores"),
            Evidence(what="Cores this run may use", value=usable, unit="cores"),
            Evidence(what="Speed-up with instant data", value=predictor.ceiling, unit="factor"),
        ],
    )


def _why_not(case: Case, usable: float) -> str:
    used = measures.used_cores_fraction(case.rank, case.facts.host)
    if is_unsharded(case):
        reason = f": {case.loader.why_unsharded}" if case.loader.why_unsharded else ""
        return f"Each of several workers loads all of the data set{reason}."
    if case.is_short_of_memory:
        return "There is no memory for more: this run is short of it already."
    if used is not None and used >= LIMITS.saturated_cores_fraction:
        return f"The {usable:g} cores this run may use are already busy."
    if not any(fits(case, with_workers(case, number)) for number in numbers(case) if number > case.num_workers):
        return "There is no room for more: of cores, of memory, of /dev/shm or of open files."
    return "Simulated with this run's own batches, no number of them gains 5% or more."
