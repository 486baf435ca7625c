"""More worker processes, or fewer, and how far ahead they load, found by simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from underfed_server.advice.capacity import fits, fits_in_pass, in_flight, left_bytes, worker_bytes
from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.loader_settings import without_workers
from underfed_server.advice.offer import Offer, is_worthwhile, predicted_step_us, refuse
from underfed_server.advice.outside_loader import free_cores
from underfed_server.advice.prediction.predict import Prediction, Predictor
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.advice.prediction.workload import PredictionError
from underfed_server.advice.search import (
    do_workers_sleep,
    find_setting,
    is_unsharded,
    may_not_shard,
    numbers,
    shard_limit,
    why_no_workers,
    why_unverifiable,
    with_workers,
)
from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.examination import waits_only_at_first
from underfed_server.diagnosis.sentence import duration
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.record import epoch_starts
from underfed_server.model import CauseFinding, Evidence, Refusal, Setting


def consider(case: Case) -> Offer | Refusal | None:
    if case.loader.num_workers is None or not (case.waits_for_data or case.is_short_of_memory):
        return None
    if (why := why_no_workers(case)) is not None:
        return refuse(case, "More workers", f"Not as the program is: {why}.", []) if case.waits_for_data else None
    try:
        return _predicted(case, case.predicting())
    except PredictionError as error:
        return _unpredicted(case, str(error))


def _predicted(case: Case, predictor: Predictor) -> Offer | Refusal | None:
    faster = find_setting(case, predictor) if case.waits_for_data else None
    best = predictor.predict(faster) if faster else None
    if best is not None and is_worthwhile(best.speedup) and not _is_against_cause(case, best):
        is_cold = best.setting.num_workers > case.num_workers and waits_only_at_first(case.rank)
        return _offer(case, best.setting, _why(case, best), COLD if is_cold else best)
    fewer = _as_fast_with_fewer(case, predictor) if case.is_short_of_memory else None
    if fewer is not None:
        return _offer(case, fewer.setting, _why_fewer(case, fewer.setting), fewer)
    return _refusal(case, predictor) if case.waits_for_data else None


COLD = (
    "loads of the first epoch waited for far longer than those of later ones, which have it in memory: that is not "
    "gained again, and what the data set itself keeps, each worker would have to keep for itself"
)


def _is_against_cause(case: Case, best: Prediction) -> bool:
    """It may be a loss: more workers of a run whose own work fills the cores above all, or none although workers were
    not found to cost anything."""
    if best.low < 1 and not best.setting.num_workers and _cost_of_workers(case) is None:
        return True
    leading, more = case.verdict.causes[:1], best.setting.num_workers > case.num_workers
    is_full = bool(leading) and leading[0].cause == "cpu_limited"
    return is_full and more and best.low < 1 and free_cores(case.facts, case.rank, case.verdict.causes) is None


def _as_fast_with_fewer(case: Case, predictor: Predictor) -> Prediction | None:
    """For a run that is short of memory; ``None``: it needs all its workers."""
    fewer = [with_workers(case, number) for number in numbers(case) if number < case.num_workers]
    fast = (setting for setting in fewer if predictor.quick(setting) >= 1 - THRESHOLDS.cheapest_within_fraction)
    setting = next(fast, None)
    return predictor.predict(setting) if setting else None


def _unpredicted(case: Case, obstacle: str) -> Offer | None:
    """Workers that keep up by Little's law, without a predicted gain."""
    load = measures.mean(case.rank.batches.load_us)
    own = case.rank.rest_us
    options = [with_workers(case, number) for number in numbers(case) if number > case.num_workers]
    options = [setting for setting in options if fits(case, setting)]
    if load is None or not options or not case.waits_for_data:
        return None
    is_pace_seen = not case.rank.is_read_ahead
    needed = math.ceil(load / max(own, 1.0)) if is_pace_seen else 2 * max(1, case.num_workers)
    setting = next((option for option in options if option.num_workers >= needed), options[-1])
    pace = "as fast as the loop takes batches" if is_pace_seen else "more batches at once"
    why = f"{_workers(setting.num_workers)} {pace}, if there are cores for them."
    return _offer(case, setting, why, obstacle)


def _offer(case: Case, setting: SimulatedSetting, why: str, gain: Prediction | str) -> Offer:
    number, current = setting.num_workers, case.num_workers
    if_it_shards = ", if the data set shards" if _is_verified(case, number) else ""
    changed: dict[str, Setting] = {"num_workers": number, "prefetch_factor": setting.prefetch_factor}
    in_code: dict[str, str | None] = {"num_workers": repr(number)}
    if not number:
        in_code |= dict.fromkeys(without_workers(case.loader))
    elif setting.prefetch_factor != case.prefetch_factor:
        in_code["prefetch_factor"] = repr(setting.prefetch_factor)
    # Whole: where the title stands alone, half of the change would be made.
    beside = f", with prefetch_factor={setting.prefetch_factor}" if in_code.get("prefetch_factor") else ""
    change = "Raise" if number > current else "Lower"
    return Offer(
        to=number,
        title=f"{change} num_workers from {case.current('num_workers', current)} to {number}{beside}{if_it_shards}",
        why=why,
        risk=_risk(case, number),
        call=in_code,
        evidence=_evidence(case, setting),
        settings=changed,
        gain=gain,
    )


def _why(case: Case, best: Prediction) -> str:
    number, current = best.setting.num_workers, case.num_workers
    if not number:
        return _why_none(case)
    if number < current:
        return f"{_workers(number)} faster than {current}: more workers compete for the same cores."
    pace, text = _pace(case, number), f"{_workers(number)} {'more batches at once' if current else BESIDE}"
    said = [f"{text}{pace.said if pace else ''}."]
    if best.setting.prefetch_factor > case.prefetch_factor:
        said.append("Load times vary: with a longer queue a slow batch is started earlier.")
    step_us, fastest_us = predicted_step_us(case, best), pace.step_us if pace else case.rank.rest_us
    if limit := _limit(case, best) if is_computed(case) else None:
        said.append(limit)
    elif step_us > SLOWER * fastest_us:
        in_all = f": a step is predicted to take {duration(step_us)}."
        said.append(
            "Each pass begins with an empty queue, so that its first batches are waited for. That, handing batches "
            f"over, and single long loads come on top{in_all}"
            if _has_short_passes(case, number)
            else f"Handing batches over, and single long loads, come on top of that{in_all}"
        )
    return " ".join(said)


SHORT_PASS = 5
"""Batches of each worker in a pass, up to which those at its start, when none is ready, are worth a sentence."""


def _has_short_passes(case: Case, number: int) -> bool:
    starts = int(epoch_starts(case.rank.steps).sum())
    return starts > 1 and len(case.rank.steps) <= SHORT_PASS * number * starts


BESIDE = "while the training loop works"

SLOWER = 1.05
"""A predicted step, than what loading and the loop each take, from which it is said what costs the rest."""


@dataclass(frozen=True, slots=True)
class WorkersPace:
    """That of so many workers, to be checked by arithmetic: figures of the evidence."""

    said: str
    step_us: float
    """Of the slower of both, the workers and the loop."""


def _pace(case: Case, number: int) -> WorkersPace | None:
    """At the present time of a load. ``None``: it was not measured, or the loop's own pace was not seen."""
    load_us, own_us = measures.mean(case.rank.batches.load_us), measures.work_us(case.rank)
    if load_us is None or case.rank.is_read_ahead:
        return None
    ready_us, takes = load_us / number, f"a batch takes {duration(load_us)} to load"
    if number > 1:
        takes += f", so that of {number} workers one is ready every {duration(ready_us)}"
    loop = f"the loop takes one every {duration(own_us)}"
    if ready_us > own_us:
        loop = f"the loop could take one every {duration(own_us)}, so that it still waits"
    return WorkersPace(f": {takes}, and {loop}", max(ready_us, own_us))


def is_computed(case: Case) -> bool:
    """Loading needs cores for most of its time, so that full ones are its limit."""
    blocked = measures.load_share(case.rank, case.rank.batches.blocked_us)
    return blocked is None or blocked < THRESHOLDS.blocked_fraction


def _cost_of_workers(case: Case) -> CauseFinding | None:
    """The costliest of the causes that come with workers."""
    return case.found("ipc_copy", "worker_startup", "pin_thread")


def _why_none(case: Case) -> str:
    found = _cost_of_workers(case)
    if found is not None and found.cause == "worker_startup":
        return "Starting workers in each epoch costs more time than the workers save."
    return "Handing batches over from a worker takes longer than loading them in the training process."


def _limit(case: Case, best: Prediction) -> str | None:
    """Whose work fills the cores then; ``None``: some stay free, or it is not known."""
    needed, usable = case.cpu_us, case.facts.host.usable_cores
    if needed is None or not usable:
        return None
    own = needed / predicted_step_us(case, best)
    others = measures.other_cores(case.rank.process) or 0.0
    if own + others < THRESHOLDS.saturated_cores_fraction * usable:
        return None
    if others > own:
        return (
            f"That is so if each gets as much of the cores as now: other processes use {others:.1f} of the {usable:g} "
            "that this run may use."
        )
    return (
        f"Then the {usable:g} cores that this run may use are the limit: this rank alone computes on {own:.1f} of them."
    )


def _why_fewer(case: Case, setting: SimulatedSetting) -> str:
    if not setting.num_workers:
        return "The training process loads as fast by itself, and the workers' memory is freed."
    return f"{_workers(setting.num_workers)} as fast as {case.num_workers} do, and the memory of the others is freed."


def _workers(number: int) -> str:
    return "1 worker loads" if number == 1 else f"{number} workers load"


def _risk(case: Case, number: int) -> str:
    if not number:
        return "Loading then adds to each step: measure again when the data or the machine changes."
    if number < case.num_workers:
        return "Batches keep their order; random augmentation uses the seeds of other workers."
    if _is_verified(case, number):
        return (
            "If the data set does not shard itself by worker, every worker yields every sample. Verified when it is "
            "applied: with --apply or --set, what two workers load first is compared, and where records repeat the "
            "loader stays as it is. An edit of the code is not verified."
        )
    risk = "Each worker holds its own copy of the data set object in memory."
    if (case.rank.process.threads or 0) > 1 and case.loader.settings.get("multiprocessing_context") in (None, "fork"):
        risk += " Workers are forked: a lock that another thread holds at that moment stays locked in them."
    if not case.num_workers:
        risk += " Batches keep their order; random augmentation uses the workers' own seeds."
    return risk


def _is_verified(case: Case, number: int) -> bool:
    """Whether it depends on what the agent finds out as it applies the change. One worker loads what none does."""
    return may_not_shard(case) and number > max(1, case.num_workers)


def _evidence(case: Case, setting: SimulatedSetting) -> list[Evidence]:
    rank, host = case.rank, case.facts.host
    rows = [
        evidence.load(rank),
        evidence.work(rank),
        evidence.load_cpu(rank),
        evidence.usable_cores(host),
        Evidence(what="Cores used by others", value=measures.other_cores(rank.process), unit="cores"),
    ]
    own, batch, left = worker_bytes(case), case.loader.batch_bytes, left_bytes(host)
    if own is not None:
        rows.append(Evidence(what="Memory of one worker", value=own, unit="bytes"))
    if batch is not None and setting.num_workers:
        rows.append(
            Evidence(
                what=f"Batches in flight take at most, of {setting.num_workers} workers",
                value=batch * in_flight(setting),
                unit="bytes",
            )
        )
    if left is not None:
        rows.append(Evidence(what="Memory this run may still take", value=left, unit="bytes"))
    return rows


def _refusal(case: Case, predictor: Predictor) -> Refusal:
    usable = case.facts.host.usable_cores or 0.0
    instant = Evidence(what="Speed-up with instant data", value=predictor.ceiling, unit="factor")
    rows = [evidence.cores_in_use(case.rank), evidence.usable_cores(case.facts.host), instant]
    is_tuned = case.is_kept_by_tuning("num_workers")
    title = f"More workers than the {case.num_workers} that --tune kept" if is_tuned else "More workers"
    return refuse(case, title, _why_not(case, usable), rows)


def _why_not(case: Case, usable: float) -> str:
    used = measures.used_cores_fraction(case.rank, case.facts.host)
    if (why := _why_not_divided(case)) is not None:
        return why
    if case.found("storage_limit"):
        return "The storage gives all workers together no more, however many they are."
    if case.is_short_of_memory:
        return "This run is short of memory already, and more workers take more of it."
    if used is not None and used >= THRESHOLDS.saturated_cores_fraction:
        return f"The {usable:g} cores this run may use are already busy."
    return _why_no_room(case) or "Simulated with this run's own batches, no other number of workers gains 5% or more."


def _why_not_divided(case: Case) -> str | None:
    """``None``: more workers would each have a part of the data set."""
    if is_unsharded(case):
        reason = f": {case.loader.why_unsharded}" if case.loader.why_unsharded else ""
        return f"With several workers, each loads the whole data set{reason}."
    if (why := why_unverifiable(case)) is not None:
        return f"Nothing shows that more workers would not repeat its records: {why}."
    limit = shard_limit(case)
    return _why_no_shard(case, limit) if limit is not None and limit <= case.num_workers else None


def _why_no_shard(case: Case, limit: int) -> str:
    shards = case.loader.dataset_shards
    if shards is None or shards > limit:
        return f"Only {limit} of {case.num_workers} workers have anything to load, and another one would have nothing."
    return f"The data set has {shards} {'shard' if shards == 1 else 'shards'}: further workers would have none to load."


def _why_no_room(case: Case) -> str | None:
    more = [number for number in numbers(case) if number > case.num_workers]
    if not more and do_workers_sleep(case):
        return f"One training loop hardly takes batches from more than {case.num_workers} workers."
    if not more:
        return "More workers would need more cores than this run may use."
    if not any(fits_in_pass(case, replace(with_workers(case, number), prefetch_factor=1)) for number in more):
        return f"A pass of {case.loader.batches_per_epoch} batches ends while more workers would fill their queue."
    if not any(fits(case, with_workers(case, number)) for number in more):
        return "More workers would need more memory, /dev/shm or open files than this run may use."
    return None


CHANGE = Change(
    label="number of workers",
    consider=consider,
    needs_cause=False,
)
