"""``storage_wait``: loading is mostly blocked, and on reads that really reach storage, not the page cache."""

from __future__ import annotations

from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import (
    load_share,
    mean,
    read_bytes_per_s,
    storage_blocked_fraction,
    storage_fraction,
)
from underfed_server.facts.record import RunFacts
from underfed_server.model import CauseFinding, Evidence


def find(facts: RunFacts, limits: Limits) -> CauseFinding | None:
    rank = facts.median_rank
    blocked = storage_blocked_fraction(rank, limits.blocked_fraction, limits.storage_read_fraction)
    if blocked == 0.0:
        return None
    return CauseFinding(
        cause="storage_wait",
        cost_fraction=rank.stall_fraction * blocked,
        sentence="Loading mostly waits for storage: the reads are not served by the page cache.",
        evidence=[
            Evidence(
                what="Loading spent blocked, not computing",
                value=load_share(rank, rank.batches.blocked_us),
                unit="fraction",
                series="blocked_us",
            ),
            Evidence(what="Read from storage, of bytes asked for", value=storage_fraction(rank), unit="fraction"),
            Evidence(
                what="Read from storage",
                value=read_bytes_per_s(rank),
                unit="bytes_per_s",
                series="read_bytes",
            ),
            Evidence(what="Read from storage for one batch", value=mean(rank.batches.read_bytes), unit="bytes"),
        ],
    )
