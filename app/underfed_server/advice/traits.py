"""What a run was set up with, as far as it can be seen: by it two runs of a job are told apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from underfed_server.diagnosis.ranks import judged_rank
from underfed_server.facts.record import Column, RunFacts
from underfed_server.model import Setting

Traits = Mapping[str, Setting]
"""By name: loader settings, where the data lies, what it ran on, and what was measured. ``None``: not known."""

WITH_WORKERS: Traits = {
    "prefetch_factor": 2,
    "persistent_workers": False,
    "in_order": True,
    "threads_per_worker": None,
    "multiprocessing_context": None,
}
"""Settings that say nothing without workers, with what torch takes where none is given."""

ALWAYS: Traits = {"num_workers": None, "batch_size": None, "pin_memory": False, "sharing_strategy": None}
SETTINGS = (*ALWAYS, *WITH_WORKERS)

NAMES: Mapping[str, str] = {
    "dataset_type": "the data set",
    "storage": "where the data lies",
    "batch_tensors": "the tensors in a batch",
    "world_size": "the number of ranks",
    "usable_cores": "the usable cores",
    "cpu_model": "the processor",
    "gpu_name": "the GPU",
}
"""Of the traits besides settings that two runs must have in common to be compared."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What a run ran on."""

    world_size: int = 1
    cpu_model: str | None = None
    gpu_name: str | None = None


def traits_of(facts: RunFacts, machine: Machine, *, has_straggler: bool) -> Traits:
    """Of the judged loader."""
    loader, host = facts.loader, facts.host
    settings = {**facts.overrides, **loader.settings} if loader else {}
    return {
        **normalised(settings),
        "dataset_type": loader.dataset_type if loader else None,
        "batch_tensors": loader.batch_tensors if loader else None,
        "repeated_batches": loader.repeated_batches if loader else None,
        "storage": _storage(facts),
        "world_size": machine.world_size,
        "cpu_model": machine.cpu_model,
        "gpu_name": machine.gpu_name,
        "usable_cores": host.usable_cores,
        "shm_total_bytes": host.shm_total_bytes,
        "has_straggler": has_straggler,
        **_measured(facts),
    }


def normalised(settings: Traits) -> dict[str, Setting]:
    """Every setting that counts, with torch's default where it was not given or means nothing without workers."""
    with_workers = settings if settings.get("num_workers") else {}
    chosen = {name: _or_default(with_workers, name, default) for name, default in WITH_WORKERS.items()}
    return {name: _or_default(settings, name, default) for name, default in ALWAYS.items()} | chosen


def _or_default(settings: Traits, name: str, default: Setting) -> Setting:
    value = settings.get(name)
    return default if value is None else value


def _storage(facts: RunFacts) -> str | None:
    """``"memory"``, ``"network, nvme"``; ``None``: no file of a known kind was seen."""
    kinds = sorted({place.kind for place in facts.storage} - {"unknown"})
    return ", ".join(kinds) or None


def _measured(facts: RunFacts) -> dict[str, Setting]:
    if not facts.judged_steps:
        return {}
    rank = judged_rank(facts)
    return {"collate_us": _mean(rank.batches.collate_us), "sampler_us": _mean(rank.steps.sampler_us)}


def _mean(column: Column) -> float | None:
    known = column[np.isfinite(column)]
    return float(np.mean(known)) if len(known) else None
