"""``no_workers``: the training process loads its own batches, so every load adds to the step."""

from __future__ import annotations

from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import (
    load_share,
    mean,
    recoverable_fraction,
    storage_blocked_fraction,
    used_cores,
)
from underfed_server.facts.record import RunFacts
from underfed_server.model import CauseFinding, Evidence


def find(facts: RunFacts, limits: Limits) -> CauseFinding | None:
    loader, rank = facts.loader, facts.median_rank
    if loader is None or loader.num_workers != 0:
        return None
    storage = storage_blocked_fraction(rank, limits.blocked_fraction, limits.storage_read_fraction)
    cost = recoverable_fraction(rank, facts.host) * (1 - storage)
    return CauseFinding(
        cause="no_workers",
        cost_fraction=cost,
        sentence="The training process loads every batch itself (num_workers=0), so each load adds to the step.",
        evidence=[
            Evidence(what="num_workers", value="0", unit="setting"),
            Evidence(what="Loading one batch", value=mean(rank.batches.load_us), unit="us", series="load_us"),
            Evidence(what="Loading spent on the CPU", value=load_share(rank, rank.batches.cpu_us), unit="fraction"),
            Evidence(what="Cores in use", value=used_cores(rank), unit="cores", series="busy_cores"),
            Evidence(what="Cores this run may use", value=facts.host.usable_cores, unit="cores"),
        ],
    )
