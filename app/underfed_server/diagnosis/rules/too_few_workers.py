"""``too_few_workers``: the workers load all the time and cores are free."""

from __future__ import annotations

from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import (
    busy_workers_fraction,
    empty_queue_fraction,
    load_share,
    mean,
    recoverable_fraction,
    storage_blocked_fraction,
    used_cores,
    used_cores_fraction,
)
from underfed_server.facts.record import RunFacts
from underfed_server.model import CauseFinding, Evidence


def find(facts: RunFacts, limits: Limits) -> CauseFinding | None:
    loader, rank = facts.loader, facts.median_rank
    if loader is None or not loader.num_workers:
        return None
    busy = busy_workers_fraction(rank, loader.num_workers)
    used = used_cores_fraction(rank, facts.host)
    if busy is None or busy < limits.busy_workers_fraction:
        return None
    if used is not None and used >= limits.saturated_cores_fraction:
        return None
    storage = storage_blocked_fraction(rank, limits.blocked_fraction, limits.storage_read_fraction)
    plural = "worker loads" if loader.num_workers == 1 else "workers load"
    return CauseFinding(
        cause="too_few_workers",
        cost_fraction=recoverable_fraction(rank, facts.host) * (1 - storage),
        sentence=f"{loader.num_workers} {plural} without a pause and cannot keep up; cores are free.",
        evidence=[
            Evidence(what="Time the workers spent loading", value=busy, unit="fraction"),
            Evidence(what="Loading one batch", value=mean(rank.batches.load_us), unit="us", series="load_us"),
            Evidence(what="The loop could take one every", value=rank.step_us - rank.data_wait_us, unit="us"),
            Evidence(
                what="Requests that found no batch ready",
                value=empty_queue_fraction(rank),
                unit="fraction",
                series="queue_depth",
            ),
            Evidence(
                what="Loading spent blocked, not computing",
                value=load_share(rank, rank.batches.blocked_us),
                unit="fraction",
                series="blocked_us",
            ),
            Evidence(what="Cores in use", value=used_cores(rank), unit="cores", series="busy_cores"),
            Evidence(what="Cores this run may use", value=facts.host.usable_cores, unit="cores"),
        ],
    )
