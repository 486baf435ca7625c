"""The cores this run may use are all busy, so that more workers cannot load faster.

Judged by affinity and cgroup quota, never by the machine's core count: a job with 2 of 96 cores is limited by 2.
"""

from __future__ import annotations

from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.cause import Cause, Found, Shared
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.signals import under
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Evidence, Signal

THROTTLED_FRACTION = 0.10
"""Share of time that the control group was stopped at its CPU quota, from which the quota is full though its use,
averaged over a second, is below it."""


def find(examined: Examination) -> Found | None:
    rank, host, loads = examined.rank, examined.facts.host, examined.loads
    if examined.loader is None or loads.cpu is None or not _are_cores_full(examined):
        return None
    # What more workers would give back is not the CPU's fault, nor is what loading waits for on its own.
    share = 1 - measures.recoverable_share(rank, host, examined.wait.loading)
    share *= min(1.0, loads.cpu + (loads.runqueue or 0.0))
    throttled = measures.throttled_fraction(rank, host)
    return Found(
        examined.unexplained * share,
        "Every core this run may use is busy: the CPU limits how fast batches are loaded.",
        [
            evidence.cores_in_use(rank),
            evidence.usable_cores(host),
            evidence.cpu_share(loads.cpu),
            evidence.runqueue_share(loads.runqueue),
            Evidence(what="Stopped at the CPU quota, of the time", value=throttled, unit="fraction"),
            evidence.load_cpu(rank),
        ],
    )


def _are_cores_full(examined: Examination) -> bool:
    used = measures.used_cores_fraction(examined.rank, examined.facts.host)
    throttled = measures.throttled_fraction(examined.rank, examined.facts.host)
    return (
        (used is not None and used >= THRESHOLDS.saturated_cores_fraction)
        or (examined.loads.runqueue is not None and examined.loads.runqueue >= THRESHOLDS.runqueue_fraction)
        or (throttled is not None and throttled >= THROTTLED_FRACTION)
    )


def signals(examined: Examination, is_found: bool) -> list[Signal]:
    rank = examined.rank
    used = measures.used_cores_fraction(rank, examined.facts.host)
    queued = measures.load_share(rank, rank.batches.runqueue_us)
    return [
        under(THRESHOLDS.saturated_cores_fraction, "Cores in use, of those allowed", "of the cores", used,
              "all busy", is_cause=is_found, series="busy_cores"),
        under(THRESHOLDS.runqueue_fraction, "Loading ready to run, no core free", "of load time", queued,
              "waits for a core", is_cause=is_found, series="runqueue_us"),
    ]  # fmt: skip


CAUSE = Cause(
    label="CPU saturated",
    about="The cores that this run may use, by affinity and cgroup quota, are all busy.",
    find=find,
    cured_by=("cpu_allocation", "gpu_decode", "num_workers", "vectorize_getitem"),
    signals=signals,
    turn="last",
    shared=Shared("cores", "need more cores than there are on"),
)
