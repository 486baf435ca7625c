"""The training process loads every batch itself (``num_workers=0``), so each load adds to the step."""

from __future__ import annotations

from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.cause import Cause, Found, signal
from underfed_server.diagnosis.costly_evidence import costliest
from underfed_server.diagnosis.examination import Examination
from underfed_server.model import Signal

HANDOVER_US = 1_000.0
"""The least that receiving a batch from a worker costs: shorter loads are not worth a worker. Own study: receiving
a ready batch takes 1.5–6 ms on a busy machine, 0.45 ms of it for each tensor."""


def find(examined: Examination) -> Found | None:
    loader, rank, host = examined.loader, examined.rank, examined.facts.host
    if loader is None or loader.num_workers != 0:
        return None
    load = measures.mean(rank.batches.load_us)
    share = measures.recoverable_share(examined.facts, rank, examined.wait.loading)
    if load is not None:
        share = min(share, max(0.0, 1 - HANDOVER_US / load) if load > 0 else 0.0)
    return Found(
        examined.beside_crowd * share,
        "The training process loads every batch itself (num_workers=0), so each load adds to the step.",
        [
            evidence.setting("num_workers", 0),
            evidence.load(rank),
            evidence.cpu_share(examined.loads.cpu),
            *costliest(examined),
            evidence.cores_in_use(rank),
            evidence.usable_cores(host),
        ],
    )


def _signal(examined: Examination, is_found: bool) -> Signal | None:
    if examined.workers:
        return None
    reading = "cause" if is_found else "ruled_out"
    return signal("Worker processes", evidence.setting("num_workers", 0), "1 or more", reading, "the cause")


CAUSE = Cause(
    label="no workers",
    find=find,
    cured_by=("cheaper_transform", "num_workers", "shm_size", "vectorize_getitem"),
    signals=(_signal,),
    turn="last",
)
