"""Each worker computes with a pool of threads, and together they are more than there are cores.

OpenCV, OpenMP, MKL and torch start as many threads as the machine has cores, in each worker. The time that a load waits
for a core, and for the threads of its own pool, goes away with one thread a worker.
"""

from __future__ import annotations

from statistics import median

from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.cause import Cause, Found, has_workers, share_signal
from underfed_server.diagnosis.costly_evidence import costliest
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Evidence

OWN_WORKER_THREADS = 3
"""Threads that a worker of torch has by itself: its loop, its queue's feeder, the sharer of file descriptors."""

HELPERS_FRACTION = 0.30
"""CPU of a worker's other threads, of all its CPU, from which a thread pool computes: two threads share the work at
0.5, and handing over a batch of two tensors takes a millisecond."""


def find(examined: Examination) -> Found | None:
    loads, usable, threads = examined.loads, examined.facts.host.usable_cores, _threads_a_worker(examined)
    if not usable or threads is None or loads.helpers is None or loads.runqueue is None:
        return None
    runnable = _runnable(examined)
    if (
        threads <= OWN_WORKER_THREADS
        or runnable is None
        or runnable <= usable
        or loads.helpers < HELPERS_FRACTION
        or loads.runqueue < THRESHOLDS.runqueue_fraction
    ):
        return None
    share = min(1.0, loads.runqueue + (loads.blocked_else or 0.0) * loads.helpers)
    workers = "1 worker computes" if examined.workers == 1 else f"{examined.workers} workers compute"
    return Found(
        min(examined.unexplained, examined.wait.loading * share),
        f"{workers} with pools of threads, of which {runnable:.0f} want a core at once; there are {usable:g} cores.",
        [
            Evidence(what="Threads of one worker", value=threads, unit="count"),
            Evidence(what="Threads of all workers that compute or wait for a core", value=runnable, unit="count"),
            evidence.usable_cores(examined.facts.host),
            Evidence(what="CPU time of its other threads, of a worker's", value=loads.helpers, unit="fraction"),
            evidence.runqueue_share(loads.runqueue),
            evidence.cores_in_use(examined.rank),
            *costliest(examined),
        ],
    )


def _runnable(examined: Examination) -> float | None:
    """Mean number of the workers' threads that compute or are ready to: others sleep. ``None``: not measured.

    While a loading thread is ready it gets a core for part of the time, and the pool's threads, ready as often, get as
    much each.
    """
    loads, busy = examined.loads, measures.busy_workers_fraction(examined.rank, examined.workers)
    if not loads.cpu or loads.runqueue is None or loads.helpers is None or loads.helpers >= 1 or busy is None:
        return None
    return (loads.cpu + loads.runqueue) / (1 - loads.helpers) * examined.workers * busy


def _threads_a_worker(examined: Examination) -> float | None:
    """The median of the workers; ``None``: no workers, or not measured."""
    known = [each.threads for each in examined.rank.workers if each.threads is not None]
    return float(median(known)) if known and examined.workers else None


CAUSE = Cause(
    label="too many threads",
    find=find,
    cured_by=("threads_per_worker",),
    signals=(
        share_signal(
            "CPU time of further threads in a worker",
            lambda examined: None if _threads_a_worker(examined) is None else examined.loads.helpers,
            HELPERS_FRACTION,
            "of its CPU time",
            "thread pools",
            where=has_workers,
        ),
    ),
    is_of_loading=True,
    is_of_queue=True,
)
