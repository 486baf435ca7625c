"""``thread_oversubscription``: every worker computes with a pool of threads, more than there are cores for.

OpenCV, OpenMP, MKL and torch make as many threads as the machine has cores, in each worker. What a load queues for a
CPU, and waits for the threads of its own pool, goes away with one thread a worker.
"""

from __future__ import annotations

from statistics import median

from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import used_cores
from underfed_server.model import CauseFinding, Evidence


def find(judged: Judged, limits: Limits) -> CauseFinding | None:
    loads, usable, threads = judged.loads, judged.facts.host.usable_cores, threads_a_worker(judged)
    if not usable or threads is None or loads.helpers is None or loads.runqueue is None:
        return None
    pool = threads - limits.own_worker_threads
    wanted = (1 + pool) * judged.workers
    if pool < 1 or wanted <= usable or loads.helpers < limits.helper_cpu_fraction:
        return None
    if loads.runqueue < limits.runqueue_fraction:
        return None
    share = min(1.0, loads.runqueue + (loads.blocked_else or 0.0) * loads.helpers)
    return CauseFinding(
        cause="thread_oversubscription",
        cost_fraction=min(judged.loading_left, judged.wait.loading * share),
        sentence=f"{judged.workers} workers compute with {1 + pool:.0f} threads each, on {usable:g} cores.",
        evidence=[
            Evidence(what="Threads of a worker", value=threads, unit="count"),
            Evidence(what="Threads that compute, all workers", value=float(wanted), unit="count"),
            Evidence(what="Cores this run may use", value=usable, unit="cores"),
            Evidence(what="CPU time of helper threads, of a worker's", value=loads.helpers, unit="fraction"),
            Evidence(
                what="Loading spent ready, with no core free",
                value=loads.runqueue,
                unit="fraction",
                series="runqueue_us",
            ),
            Evidence(what="Cores in use", value=used_cores(judged.rank), unit="cores", series="busy_cores"),
        ],
    )


def threads_a_worker(judged: Judged) -> float | None:
    """The median of the workers; ``None``: no workers, or not measured."""
    known = [each.threads for each in judged.rank.workers if each.threads is not None]
    return float(median(known)) if known and judged.workers else None
