"""The cores that this run may use, by affinity and cgroup quota, are all busy.

Judged by affinity and cgroup quota, never by the machine's core count: a job with 2 of 96 cores is limited by 2.
"""

from __future__ import annotations

from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.cause import Cause, Found, Shared, load_signal, share_signal
from underfed_server.diagnosis.costly_evidence import costliest
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Evidence


def find(examined: Examination) -> Found | None:
    rank, host, loads = examined.rank, examined.facts.host, examined.loads
    if examined.loader is None or loads.cpu is None or not measures.are_cores_full(rank, host, loads.runqueue):
        return None
    # The CPU is not charged with what more workers would recover, nor with what loading is blocked on.
    share = 1 - measures.recoverable_share(rank, host, examined.wait.loading)
    share *= min(1.0, loads.cpu + (loads.runqueue or 0.0))
    throttled = measures.throttled_fraction(rank, host)
    crowded, own = examined.crowd.cost_fraction, examined.beside_crowd * share
    return Found(
        crowded + own,
        _sentence(examined, crowded, own),
        [
            evidence.cores_in_use(rank),
            evidence.others_cores(examined.crowd.cores),
            evidence.usable_cores(host),
            evidence.cpu_share(loads.cpu),
            evidence.runqueue_share(loads.runqueue),
            Evidence(what="Throttled at the CPU quota, of the time", value=throttled, unit="fraction"),
            evidence.load_cpu(rank),
            *costliest(examined),
        ],
    )


def _sentence(examined: Examination, crowded: float, own: float) -> str:
    """``crowded``, ``own``: of step time, what others cost and what the run's own work does."""
    usable, others = examined.facts.host.usable_cores, examined.crowd.cores
    if crowded <= own or not usable or others is None:
        return "Every core this run may use is busy: the CPU limits how fast batches are loaded."
    return (
        f"Other jobs use {others:.1f} of the {usable:g} cores that this run may use: its processes are ready to load "
        "and to hand over batches, and wait for a free core."
    )


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
