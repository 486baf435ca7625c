"""A few batches take far longer to load than the rest, and in-order delivery keeps ready ones waiting."""

from __future__ import annotations

import numpy as np

from underfed_server.diagnosis import evidence
from underfed_server.diagnosis.cause import Cause, Found, has_workers, share_signal
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.measures import Tail, load_tail
from underfed_server.diagnosis.slowest_samples import named, slowest
from underfed_server.model import Evidence

TAIL_FACTOR = 2.0
"""The 95th percentile of loads against their median from which load times have a heavy tail (loadtune and pytscope
call a ratio of 1.5 jitter, which two workers on a core already show)."""

TAIL_SHARE = 0.25
"""Share of all load time in the slowest 5 % from which a tail is heavy also where fewer than 5 % are slow; of equal
loads it is 5 %."""


def find(examined: Examination) -> Found | None:
    cost, tail = examined.wait.held_back, load_tail(examined.rank)
    if cost is None or tail is None or not is_heavy(tail):
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


def is_heavy(tail: Tail) -> bool:
    return tail.p95_us >= TAIL_FACTOR * tail.median_us or tail.slowest_share >= TAIL_SHARE


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
