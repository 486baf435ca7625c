"""What a run was set up with, as far as it can be seen: what two runs of a job may differ in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from underfed_server.advice.loader_settings import normalised
from underfed_server.diagnosis.measures import anatomy_of, mean, strangers_cores, used_cores_fraction, work_us
from underfed_server.diagnosis.sentence import duration
from underfed_server.diagnosis.slow_ranks import slow_ranks
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.record import RankFacts, RunFacts
from underfed_server.model import Setting

Traits = Mapping[str, Setting]
"""By name: loader settings, where the data lies, what it ran on, and what was measured. ``None``: not known."""

Sign = Callable[[Traits, Traits], bool]
"""Of the earlier and the later run: shows that a change came between them."""

HALF = 0.5
"""A change of code is seen by its effect if it at least halved what it acts on: noise does not."""

CROWDED = 0.25
"""Of the usable cores, used by other jobs while all are busy, from which these slow a run down; and by how much that
differs between runs that are not alike."""

OTHER_WORK = 1.25
"""By how much the step without its wait differs between runs that are not alike: the same step took 110 and 134 ms
beside the same two busy processes (own study)."""

ONE_THREAD = 0.9
"""Of the training process's CPU time, in its main thread: what others take is no part of the step's work."""

MOST_SLOWED = 2.0
"""By which busy cores may slow each other down, where that was not measured: two that share a physical one."""

NAMES: Mapping[str, str] = {
    "dataset_type": "the data set",
    "storage": "where the data lies",
    "dataset_length": "the length of the data set",
    "batch_tensors": "the tensors in a batch",
    "world_size": "the number of ranks",
    "usable_cores": "the usable cores",
    "cpu_model": "the processor",
    "gpu_name": "the GPU",
}
"""Labels of the traits besides settings that two runs must have in common to be compared."""

OF_LOADER = (
    "dataset_type", "dataset_length", "batch_tensors", "batch_bytes", "dispatched", "snapshot_interval_steps",
    "dataset_shards", "repeated_batches",
)  # fmt: skip
"""Traits that the agent reports of the loader."""


def traits_of(facts: RunFacts, machine: Traits, *, has_straggler: bool) -> Traits:
    """Traits of the judged loader. ``machine``: those of the host that the facts do not contain."""
    loader, host = facts.loader, facts.host
    return {
        **normalised(facts.settings),
        **{name: getattr(loader, name, None) for name in OF_LOADER},
        "storage": _storage(facts),
        **machine,
        "usable_cores": host.usable_cores,
        "shm_total_bytes": host.shm_total_bytes,
        "has_straggler": has_straggler,
        **_measured(facts),
    }


def _storage(facts: RunFacts) -> str | None:
    """``"memory"``, ``"network, nvme"``; ``None``: no file of a known kind was seen."""
    kinds = sorted({place.kind for place in facts.storage} - {"unknown"})
    return ", ".join(kinds) or None


def _measured(facts: RunFacts) -> dict[str, Setting]:
    if not facts.judged_steps:
        return {}
    rank = slow_ranks(facts.ranks).judged
    used, others = used_cores_fraction(rank, facts.host), strangers_cores(rank, facts.on_host_of(rank))
    is_known = used is not None and rank.process.host_busy_cores is not None
    is_full = used is not None and used >= THRESHOLDS.saturated_cores_fraction
    curve = facts.host.cpu_slowdown
    return {
        "collate_us": mean(rank.batches.collate_us),
        "sampler_us": mean(rank.steps.sampler_us),
        "work_us": work_us(rank),
        **_work(rank),
        "used_cores": used,
        "are_cores_full": is_full if is_known else None,
        "slowed_by_cores": max((factor for _busy, factor in curve), default=None) if curve else None,
        "crowding_cores": None if others is None else others if is_full else 0.0,
    }


def _work(rank: RankFacts) -> dict[str, Setting]:
    """The step's own, by what does not depend on who else wants the cores."""
    process, device, elapsed = rank.process, rank.device_work_us, anatomy_of(rank).compute_us
    loads_itself = not np.isfinite(rank.batches.worker).any()
    loading, queued = (
        (mean(part) or 0.0) if loads_itself else 0.0 for part in (rank.batches.process_cpu_us, rank.batches.runqueue_us)
    )
    waits, cores, main = process.main_runqueue_fraction, process.process_cores, process.main_cores
    known = None if cores is None else cores * rank.step_us - loading - (mean(rank.steps.sampler_us) or 0.0)
    return {
        "device_work_us": None if device is None else float(np.mean(device)),
        "elapsed_us": elapsed,
        "unqueued_us": None if waits is None else max(0.0, elapsed - max(0.0, waits * rank.step_us - queued)),
        "computed_us": None if known is None else max(0.0, known),
        "has_threads": None if cores is None or main is None else main < ONE_THREAD * cores,
    }


def load_changed(earlier: Traits, later: Traits, *, alters_work: bool = False) -> list[str]:
    """How far other jobs filled the cores, and what the step's own work took: a change of the loader is not what makes
    that differ. In words. ``alters_work``: one that is."""
    return _crowd_changed(earlier, later) or ([] if alters_work else _work_changed(earlier, later))


def _work_changed(earlier: Traits, later: Traits) -> list[str]:
    """Another model, or other numbers in it: on the device's clock where that was read. Else in elapsed time, where
    cores were free; in that without waits for a core, of one thread; in CPU time, of several."""
    name, what = _measure(earlier, later), "the step's own work"
    then, now = (_number(each, name) if name else None for each in (earlier, later))
    if name is None or not then or not now:
        return []
    is_of_device = name == "device_work_us"
    slower, faster = (1.0, 1.0) if is_of_device else (_slowed(earlier, later), _slowed(later, earlier))
    passed = (then, now) if is_of_device else [_number(each, "elapsed_us") or 0.0 for each in (earlier, later)]
    is_longer = now >= OTHER_WORK * slower * then and passed[1] >= OTHER_WORK * passed[0]
    is_shorter = then >= OTHER_WORK * faster * now and passed[0] >= OTHER_WORK * passed[1]
    if not (is_longer or is_shorter):
        return []
    described = f"{what} on its device" if is_of_device else f"{what}, in CPU time" if name == "computed_us" else what
    return [f"{described} ({duration(then)} → {duration(now)})"]


def _measure(earlier: Traits, later: Traits) -> str | None:
    """What of the step's work two runs can be compared by; ``None``: nothing that other cores' load leaves alone."""
    both = (earlier, later)
    if all(each.get("device_work_us") for each in both):
        return "device_work_us"
    fullness = [each.get("are_cores_full") for each in both]
    if None in fullness:
        return None
    if not any(fullness):
        return "elapsed_us"
    if all(each.get("has_threads") is False for each in both):
        return "unqueued_us"
    # Threads that sleep, or wait for a device, wait for a core in between, too.
    computed, elapsed = ([_number(each, name) or 0.0 for each in both] for name in ("computed_us", "elapsed_us"))
    is_computing = all(part >= HALF * whole for part, whole in zip(computed, elapsed, strict=True))
    return "computed_us" if is_computing else None


def _slowed(before: Traits, after: Traits) -> float:
    """By how much the same work may take longer ``after``, as more cores are busy then."""
    busy_before, busy_after = (_number(each, "used_cores") or 0.0 for each in (before, after))
    return (_number(after, "slowed_by_cores") or MOST_SLOWED) if busy_after > busy_before else 1.0


def _crowd_changed(earlier: Traits, later: Traits) -> list[str]:
    usable, crowds = _number(later, "usable_cores"), [_number(each, "crowding_cores") for each in (earlier, later)]
    before, after = crowds
    if not usable or before is None or after is None or max(before, after) < CROWDED * usable:
        return []
    if abs(before - after) >= CROWDED * usable:
        return [f"the cores that other jobs use while all are busy ({before:.1f} → {after:.1f})"]
    then, now = (_number(each, "work_us") for each in (earlier, later))
    if not then or not now or max(then, now) < OTHER_WORK * min(then, now):
        return []
    return [f"the step's own work, on cores that other jobs fill ({duration(then)} → {duration(now)})"]


def _number(traits: Traits, name: str) -> float | None:
    value = traits.get(name)
    return float(value) if isinstance(value, (int, float)) else None


def halved(name: str) -> Sign:
    return lambda earlier, later: _compare(
        name, earlier, later, lambda before, after: before > 0 and after <= HALF * before
    )


def grown(name: str) -> Sign:
    return lambda earlier, later: _compare(name, earlier, later, lambda before, after: after > before)


def gone(name: str) -> Sign:
    """Seen in the earlier run; looked for in the later one, and not there."""
    return lambda earlier, later: bool(earlier.get(name)) and later.get(name) in (False, 0)


def _compare(name: str, earlier: Traits, later: Traits, holds: Callable[[float, float], bool]) -> bool:
    before, after = earlier.get(name), later.get(name)
    is_known = isinstance(before, (int, float)) and isinstance(after, (int, float))
    return is_known and holds(float(before), float(after))  # type: ignore[arg-type]  # both are numbers then
