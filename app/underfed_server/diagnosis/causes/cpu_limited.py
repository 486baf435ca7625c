"""The cores that this run may use, by affinity and cgroup quota, are all busy.

Judged by affinity and cgroup quota, never by the machine's core count: a job with 2 of 96 cores is limited by 2.
"""

from __future__ import annotations

from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.cause import Cause, Found, Shared, load_signal, share_signal
from underfed_server.diagnosis.costly_evidence import costliest
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.rounded import percent
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Evidence

MOSTLY = 0.5
"""Of load time, from which the CPU is what limits it."""


def find(examined: Examination) -> Found | None:
    rank, host, loads = examined.rank, examined.facts.host, examined.loads
    if examined.loader is None or loads.cpu is None or not measures.are_cores_full(rank, host, loads.runqueue):
        return None
    # The CPU is not charged with what more workers would recover, nor with what loading is blocked on.
    share = 1 - measures.recoverable_share(examined.facts, rank, examined.wait.loading)
    share *= min(1.0, loads.cpu + (loads.runqueue or 0.0))
    throttled = measures.throttled_fraction(rank, host)
    held = examined.held_by_queue - examined.crowd.held_back
    crowded, own = examined.crowd.cost_fraction, examined.beside_crowd * share + held
    return Found(
        crowded + own,
        _sentence(examined, crowded, own),
        [
            evidence.cores_in_use(rank),
            evidence.others_cores(examined.crowd.cores),
            evidence.usable_cores(host),
            evidence.cpu_share(loads.cpu),
            evidence.runqueue_share(loads.runqueue),
            Evidence(
                what="Training thread ready to run, no core free, of the time",
                value=rank.process.main_runqueue_fraction,
                unit="fraction",
            ),
            Evidence(what="Throttled at the CPU quota, of the time", value=throttled, unit="fraction"),
            evidence.load_cpu(rank),
            *costliest(examined),
        ],
    )


def _sentence(examined: Examination, crowded: float, own: float) -> str:
    """``crowded``, ``own``: of step time, what others cost and what the run's own work does."""
    used, loads = _by_others(examined), examined.loads
    computes = (loads.cpu or 0.0) + (loads.runqueue or 0.0)
    if used and crowded > own:
        if examined.crowd.delivery >= MOSTLY * crowded:
            return f"{used}. Batches are loaded in time, but taking them from the workers waits for a free core."
        return f"{used}, so its processes wait for a free core."
    limits = "the CPU limits how fast batches are loaded."
    if computes < MOSTLY:
        limits = f"{percent(computes)} of the load time that is waited for computes, or waits for one of them."
    return f"{used}, and its own work the rest: {limits}" if used else f"Every core this run may use is busy: {limits}"


def _by_others(examined: Examination) -> str | None:
    """``None``: they use less of the cores than this run, or it is not known how much."""
    usable, others = examined.facts.host.usable_cores, examined.crowd.cores
    own = sum(measures.own_cores(each.process) for each in examined.facts.on_host_of(examined.rank))
    if not usable or others is None or others <= own:
        return None
    return f"Other jobs use {others:.1f} of the {usable:g} cores that this run may use"


CAUSE = Cause(
    label="CPU saturated",
    find=find,
    cured_by=("cheaper_transform", "cpu_allocation", "gpu_decode", "num_workers", "vectorize_getitem"),
    signals=(
        share_signal(
            "Cores in use, of those allowed",
            lambda examined: measures.used_cores_fraction(examined.rank, examined.facts.host),
            THRESHOLDS.saturated_cores_fraction,
            "of the cores",
            "all busy",
            series="busy_cores",
        ),
        load_signal(
            "Loading ready to run, no core free", "runqueue_us", THRESHOLDS.runqueue_fraction, "waits for a core"
        ),
    ),
    turn="last",
    shared=Shared("cores", "need more cores than there are on"),
)
