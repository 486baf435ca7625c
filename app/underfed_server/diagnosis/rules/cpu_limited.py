"""``cpu_limited``: the cores this run may use are all busy, so loading cannot go faster by asking for more of it.

Judged by affinity and cgroup quota, never by the machine's core count: a job with 2 of 96 cores is limited by 2.
"""

from __future__ import annotations

from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import (
    mean,
    recoverable_share,
    throttled_fraction,
    used_cores,
    used_cores_fraction,
)
from underfed_server.model import CauseFinding, Evidence


def find(judged: Judged, limits: Limits) -> CauseFinding | None:
    rank, host, cpu = judged.rank, judged.facts.host, judged.loads.cpu
    if judged.loader is None or cpu is None or not _are_cores_full(judged, limits):
        return None
    queued = judged.loads.runqueue or 0.0
    # What more workers would give back is not the CPU's fault, nor is what loading waits for on its own.
    share = (1 - recoverable_share(rank, host, judged.wait.loading)) * min(1.0, cpu + queued)
    return CauseFinding(
        cause="cpu_limited",
        cost_fraction=judged.loading_left * share,
        sentence="Every core this run may use is busy: loading is limited by the CPU.",
        evidence=[
            Evidence(what="Cores in use", value=used_cores(rank), unit="cores", series="busy_cores"),
            Evidence(what="Cores this run may use", value=host.usable_cores, unit="cores"),
            Evidence(what="Loading spent on the CPU", value=cpu, unit="fraction", series="cpu_us"),
            Evidence(
                what="Loading spent ready, with no core free",
                value=judged.loads.runqueue,
                unit="fraction",
                series="runqueue_us",
            ),
            Evidence(what="Stopped at the CPU quota", value=throttled_fraction(rank, host), unit="fraction"),
            Evidence(what="CPU time to load one batch", value=mean(rank.batches.cpu_us), unit="us", series="cpu_us"),
        ],
    )


def _are_cores_full(judged: Judged, limits: Limits) -> bool:
    used = used_cores_fraction(judged.rank, judged.facts.host)
    throttled = throttled_fraction(judged.rank, judged.facts.host)
    return (
        (used is not None and used >= limits.saturated_cores_fraction)
        or (judged.loads.runqueue is not None and judged.loads.runqueue >= limits.runqueue_fraction)
        or (throttled is not None and throttled >= limits.throttled_fraction)
    )
