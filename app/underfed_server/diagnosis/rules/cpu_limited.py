"""``cpu_limited``: the cores this run may use are all busy, so loading cannot go faster by asking for more of it.

Judged by affinity and cgroup quota, never by the machine's core count: a job with 2 of 96 cores is limited by 2.
"""

from __future__ import annotations

from underfed_server.diagnosis.cores import are_full, are_in_use, are_shared
from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import (
    mean,
    other_cores,
    recoverable_share,
    throttled_fraction,
    used_cores,
)
from underfed_server.model import CauseFinding, Evidence


def find(judged: Judged, limits: Limits) -> CauseFinding | None:
    rank, host, cpu = judged.rank, judged.facts.host, judged.loads.cpu
    if judged.loader is None or cpu is None or not are_full(rank, host, limits):
        return None
    # What loading waits for on its own is not the CPU's fault.
    share = _share_of_cores(judged, limits) * min(1.0, cpu + (judged.loads.runqueue or 0.0))
    return CauseFinding(
        cause="cpu_limited",
        cost_fraction=judged.loading_left * share,
        sentence=_sentence(judged, limits),
        evidence=[
            Evidence(what="Cores in use", value=used_cores(rank), unit="cores", series="busy_cores"),
            Evidence(what="Cores this run may use", value=host.usable_cores, unit="cores"),
            Evidence(what="Cores that other programs use", value=other_cores(rank.process), unit="cores"),
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


def _share_of_cores(judged: Judged, limits: Limits) -> float:
    """What more workers would give back is not the CPU's fault; where no core is free for them, they give nothing."""
    rank, host = judged.rank, judged.facts.host
    if judged.workers and are_in_use(rank, host, limits):
        return 1.0
    return 1 - recoverable_share(rank, host, judged.wait.loading)


def _sentence(judged: Judged, limits: Limits) -> str:
    rank, host = judged.rank, judged.facts.host
    others = ""
    if are_shared(rank, host, limits):
        others = f", {other_cores(rank.process):.2g} of {host.usable_cores:g} with other programs"
    return f"Every core this run may use is busy{others}: loading is limited by the CPU."
