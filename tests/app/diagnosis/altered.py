"""Facts with one thing changed: a host whose memory fills, workers with threads, further ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tests.app.made_facts import made_place
from underfed_server.facts.record import RankFacts, RunFacts, WorkerFacts
from underfed_server.measurements import Column, HostRows
from underfed_server.model import LoaderInfo, StorageKind

GB = 1_000_000_000
SAMPLES = 120


def with_rank(facts: RunFacts, **changes: Any) -> RunFacts:
    """Of the only rank."""
    return replace(facts, ranks=(replace(facts.ranks[0], **changes),))


def with_loader(facts: RunFacts, settings: dict[str, Any] | None = None, **changes: Any) -> RunFacts:
    assert facts.loader is not None
    loader: LoaderInfo = facts.loader
    set_now = {**loader.settings, **(settings or {})}
    return replace(facts, loader=loader.model_copy(update={"settings": set_now, **changes}))


def with_batches(facts: RunFacts, **columns: float | Column) -> RunFacts:
    batches = facts.ranks[0].batches
    return with_rank(facts, batches=replace(batches, **_full(columns, len(batches))))


def with_steps(facts: RunFacts, **columns: float | Column) -> RunFacts:
    steps = facts.ranks[0].steps
    return with_rank(facts, steps=replace(steps, **_full(columns, len(steps))))


def _full(columns: dict[str, float | Column], length: int) -> dict[str, Any]:
    return {name: np.broadcast_to(np.asarray(value, dtype=np.float64), length) for name, value in columns.items()}


def with_host(facts: RunFacts, minutes: float = 10.0, **columns: Sequence[float]) -> RunFacts:
    """Host samples that go straight from the first to the last value of each column; the others are not measured."""
    at_us = np.linspace(0, minutes * 60e6, SAMPLES)
    known = {name: np.linspace(values[0], values[-1], SAMPLES) for name, values in columns.items()}
    names = HostRows.__dataclass_fields__
    every = {name: known.get(name, np.full(SAMPLES, np.nan)) for name in names} | {"at_us": at_us}
    rows = HostRows(**every)
    return with_rank(facts, host=rows, memory=rows)


def with_memory(facts: RunFacts, total: float = 100.0, limit: float | None = None, shm: float = 10.0) -> RunFacts:
    """Sizes in GB."""
    return replace(
        facts,
        host=facts.host.model_copy(
            update={
                "memory_total_bytes": int(total * GB),
                "memory_limit_bytes": None if limit is None else int(limit * GB),
                "shm_total_bytes": int(shm * GB),
            }
        ),
    )


def with_workers(facts: RunFacts, **each: Any) -> RunFacts:
    """All alike."""
    number = (facts.loader.num_workers if facts.loader else None) or 0
    return with_rank(facts, workers=tuple(WorkerFacts(worker=worker, **each) for worker in range(number)))


def with_storage(facts: RunFacts, kind: StorageKind) -> RunFacts:
    return replace(facts, storage=(made_place(kind, device="sda", files_seen=40),))


def of_ranks(*runs: RunFacts) -> RunFacts:
    """One run with the only rank of each as its ranks."""
    ranks: tuple[RankFacts, ...] = tuple(replace(run.ranks[0], rank=rank) for rank, run in enumerate(runs))
    return replace(runs[0], ranks=ranks)
