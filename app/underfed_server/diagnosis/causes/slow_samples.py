"""A few batches take far longer to load than the rest, and in-order delivery keeps ready ones waiting."""

from __future__ import annotations

import numpy as np

from underfed_server.diagnosis import evidence
from underfed_server.diagnosis.cause import Cause, Found, has_workers, share_signal
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.measures import load_tail
from underfed_server.diagnosis.slowest_samples import named, slowest
from underfed_server.model import Evidence


def find(examined: Examination) -> Found | None:
    cost, tail = examined.wait.held_back, load_tail(examined.rank)
    own = load_tail(examined.rank, of_its_own=True)
    if cost is None or tail is None or own is None or not own.is_heavy:
        return None
    longest = float(np.nanmax(examined.rank.batches.load_us))
    samples = examined.facts.loading.slow_samples if examined.facts.loading else []
    name = next((name for each in samples if (name := named(each)) is not None), None)
    return Found(
        cost,
        "A few batches take far longer to load than the rest, and later batches that are ready wait behind them."
        + (f" The slowest sample is {name}." if name else ""),
        [
            *evidence.load_spread(examined.rank),
            Evidence(what="Slowest 5% of batches, of all load time", value=tail.slowest_share, unit="fraction"),
            Evidence(what="Waiting while later batches are ready, of step time", value=cost, unit="fraction"),
            Evidence(what="Longest load", value=longest, unit="us"),
            *slowest(samples),
        ],
    )


CAUSE = Cause(
    label="slow samples",
    find=find,
    cured_by=("cheaper_transform", "in_order", "prefetch_factor"),
    signals=(
        share_signal(
            "Waiting while later batches are ready", lambda examined: examined.wait.held_back, where=has_workers
        ),
    ),
)
