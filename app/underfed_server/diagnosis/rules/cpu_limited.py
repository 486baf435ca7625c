"""``cpu_limited``: the cores this run may use are all busy, so loading cannot go faster by asking for more of it.

Judged by affinity and cgroup quota, never by the machine's core count: a job with 2 of 96 cores is limited by 2.
"""

from __future__ import annotations

from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import (
    load_share,
    mean,
    recoverable_fraction,
    used_cores,
    used_cores_fraction,
)
from underfed_server.facts.record import RunFacts
from underfed_server.model import CauseFinding, Evidence


def find(facts: RunFacts, limits: Limits) -> CauseFinding | None:
    loader, rank = facts.loader, facts.median_rank
    used = used_cores_fraction(rank, facts.host)
    cpu = load_share(rank, rank.batches.cpu_us)
    queued = load_share(rank, rank.batches.runqueue_us)
    if loader is None or used is None or cpu is None:
        return None
    if used < limits.saturated_cores_fraction and (queued or 0.0) < limits.runqueue_fraction:
        return None
    # What more workers would give back is not the CPU's fault, nor is what loading waits for on its own.
    unrecoverable = rank.stall_fraction - recoverable_fraction(rank, facts.host)
    cost = unrecoverable * min(1.0, cpu + (queued or 0.0))
    return CauseFinding(
        cause="cpu_limited",
        cost_fraction=cost,
        sentence="Every core this run may use is busy: loading is limited by the CPU.",
        evidence=[
            Evidence(what="Cores in use", value=used_cores(rank), unit="cores", series="busy_cores"),
            Evidence(what="Cores this run may use", value=facts.host.usable_cores, unit="cores"),
            Evidence(what="Loading spent on the CPU", value=cpu, unit="fraction", series="cpu_us"),
            Evidence(
                what="Loading spent ready, with no core free",
                value=queued,
                unit="fraction",
                series="runqueue_us",
            ),
            Evidence(what="CPU time to load one batch", value=mean(rank.batches.cpu_us), unit="us", series="cpu_us"),
        ],
    )
