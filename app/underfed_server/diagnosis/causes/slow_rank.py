"""One rank waits for its input far longer than the others, which wait for it when they synchronise; or each does now
and then.
"""

from __future__ import annotations

import numpy as np

from underfed_server.diagnosis import evidence
from underfed_server.diagnosis.cause import Cause, Found, share_signal
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.rounded import percent
from underfed_server.diagnosis.sentence import duration, host_of
from underfed_server.diagnosis.slow_ranks import STRAGGLER_FRACTION
from underfed_server.facts.lockstep import Lockstep
from underfed_server.model import Evidence


def find(examined: Examination) -> Found | None:
    rank, usual = examined.rank, examined.facts.median_rank
    if examined.together is not None:
        return _in_turn(examined, examined.together)
    if rank.rank not in {each.rank for each in examined.overview.slow.stragglers}:
        return None
    where = host_of(rank, examined.facts.ranks)
    return Found(
        rank.stall_fraction - usual.stall_fraction,
        f"Rank {rank.rank}{where} waits {duration(rank.stall_us)} for its input in each step, the median rank "
        f"{duration(usual.stall_us)}; all other ranks wait for rank {rank.rank} when they synchronise.",
        [
            Evidence(what=f"Rank {rank.rank} waits, of step time", value=rank.stall_fraction, unit="fraction"),
            Evidence(what="The median rank waits, of step time", value=usual.stall_fraction, unit="fraction"),
            evidence.mean_us(f"Loading one batch on rank {rank.rank}", rank.batches.load_us, "load_us"),
            evidence.mean_us("Loading one batch on the median rank", usual.batches.load_us),
            evidence.mean_us(f"CPU time to load one batch on rank {rank.rank}", rank.batches.cpu_us, "cpu_us"),
            evidence.mean_us("CPU time to load one batch on the median rank", usual.batches.cpu_us),
        ],
    )


def _in_turn(examined: Examination, together: Lockstep) -> Found:
    rank, late = examined.rank, percent(together.late_fraction)
    return Found(
        together.lost_fraction - rank.stall_fraction,
        f"In {late} of the steps one of {together.ranks} ranks is late with its input, now this one, now that, and all "
        f"others wait for it when they synchronise; by itself a rank waits {percent(rank.stall_fraction)} of its time.",
        [
            Evidence(what="Steps in which a rank is late", value=together.late_fraction, unit="fraction"),
            Evidence(what="Longest wait of any rank, of step time", value=together.lost_fraction, unit="fraction"),
            Evidence(what="The median rank waits, of step time", value=rank.stall_fraction, unit="fraction"),
            Evidence(what="Longest wait of a rank", value=float(np.max(together.lost_us)), unit="us"),
        ],
    )


def _longest_excess(examined: Examination) -> float:
    shares = [rank.stall_fraction for rank in examined.facts.ranks if len(rank.steps)]
    return max(shares) - examined.facts.median_rank.stall_fraction


CAUSE = Cause(
    label="slow rank",
    find=find,
    cured_by=("fix_rank",),
    signals=(
        share_signal(
            "Longest wait of a rank beyond the median",
            _longest_excess,
            STRAGGLER_FRACTION,
            where=lambda examined: len(examined.facts.ranks) > 1,
        ),
    ),
)
