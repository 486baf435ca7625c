"""``slow_samples``: a few batches take far longer than the others, which lie ready and wait for their turn."""

from __future__ import annotations

import numpy as np

from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.measures import Tail, load_tail
from underfed_server.model import CauseFinding, Evidence


def find(judged: Judged, limits: Limits) -> CauseFinding | None:
    cost, tail = judged.wait.held_back, load_tail(judged.rank)
    if cost is None or tail is None or cost < limits.minor_cost_fraction or not is_heavy(tail, limits):
        return None
    return CauseFinding(
        cause="slow_samples",
        cost_fraction=cost,
        sentence="A few batches load far longer than the rest, and later ones that are ready wait behind them.",
        evidence=[
            Evidence(what="Loading a batch, median", value=tail.median_us, unit="us", series="load_us"),
            Evidence(what="Loading a batch, slowest 5%", value=tail.p95_us, unit="us", series="load_us"),
            Evidence(what="Slowest 5%, of all load time", value=tail.slowest_share, unit="fraction"),
            Evidence(what="Waiting with later batches ready, of step time", value=cost, unit="fraction"),
            Evidence(what="Longest load", value=float(np.nanmax(judged.rank.batches.load_us)), unit="us"),
        ],
    )


def is_heavy(tail: Tail, limits: Limits) -> bool:
    return tail.p95_us >= limits.tail_factor * tail.median_us or tail.slowest_share >= limits.tail_share
