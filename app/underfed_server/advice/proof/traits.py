"""What a run was set up with, as far as it can be seen: what two runs of a job may differ in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from underfed_server.advice.loader_settings import normalised
from underfed_server.diagnosis.measures import mean, strangers_cores, used_cores_fraction, work_us
from underfed_server.diagnosis.sentence import duration
from underfed_server.diagnosis.slow_ranks import slow_ranks
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.record import RunFacts
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
"""By how much the step without its wait differs between runs on such cores that are not alike: the same step took 110
and 134 ms beside the same two busy processes (own study)."""

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


def traits_of(facts: RunFacts, machine: Traits, *, has_straggler: bool) -> Traits:
    """Traits of the judged loader. ``machine``: those of the host that the facts do not contain."""
    loader, host = facts.loader, facts.host
    return {
        **normalised(facts.settings),
        "dataset_type": loader.dataset_type if loader else None,
        "dataset_length": loader.dataset_length if loader else None,
        "batch_tensors": loader.batch_tensors if loader else None,
        "batch_bytes": loader.batch_bytes if loader else None,
        "dispatched": loader.dispatched if loader else None,
        "snapshot_interval_steps": loader.snapshot_interval_steps if loader else None,
        "dataset_shards": loader.dataset_shards if loader else None,
        "repeated_batches": loader.repeated_batches if loader else None,
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
    is_full = used is not None and used >= THRESHOLDS.saturated_cores_fraction
    return {
        "collate_us": mean(rank.batches.collate_us),
        "sampler_us": mean(rank.steps.sampler_us),
        "work_us": work_us(rank),
        "crowding_cores": None if others is None else others if is_full else 0.0,
    }


def load_changed(earlier: Traits, later: Traits) -> list[str]:
    """How far other jobs filled the cores, and what the step's own work took on them: a change of the loader is not
    what makes that differ. In words."""
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
