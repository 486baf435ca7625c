"""One rank loads the batches of all ranks and sends each its own, so that they wait for one rank's workers.

Accelerate does so for iterable data sets by default. Only the rank that loads has steps then.
"""

from __future__ import annotations

from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.cause import Cause, Found, signal
from underfed_server.diagnosis.examination import Examination
from underfed_server.model import Evidence, Signal

LEAST_SAVED = 0.5
"""Of a step that loading limits: there are two ranks at least, and each that loads its own share loads half of it."""


def find(examined: Examination) -> Found | None:
    rank, loader = examined.rank, examined.loader
    if loader is None or not loader.dispatched:
        return None
    # Ranks of one host have its cores together, however many of them load.
    recoverable = measures.recoverable_share(examined.facts, rank, examined.wait.loading)
    return Found(
        min(examined.unexplained, examined.wait.loading * recoverable, LEAST_SAVED),
        f"Rank {rank.rank} loads the batches of all ranks and sends each its own: all wait for its workers alone.",
        [
            evidence.load(rank),
            evidence.work(rank),
            evidence.setting("num_workers", loader.num_workers),
            Evidence(what="Workers busy loading", value=_busy(examined), unit="fraction"),
            evidence.cores_in_use(rank),
            evidence.usable_cores(examined.facts.host),
        ],
    )


def _busy(examined: Examination) -> float | None:
    return measures.busy_workers_fraction(examined.rank, examined.workers)


def _signal(examined: Examination, is_found: bool) -> Signal | None:
    if examined.loader is None or not examined.loader.dispatched:
        return None
    measured = evidence.setting("dispatch_batches", True)
    return signal("Who loads", measured, "each rank its own", "cause" if is_found else "symptom", "one for all")


CAUSE = Cause(
    label="one rank loads for all",
    find=find,
    cured_by=("shard_iterable",),
    signals=(_signal,),
    turn="first",
    is_of_loading=True,
)
