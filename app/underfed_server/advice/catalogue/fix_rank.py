"""``fix_rank``: one rank waits for its data and the others wait for it, so its host or storage is what to mend."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from underfed_server.advice.case import Case
from underfed_server.advice.offer import Offer, offer_computed
from underfed_server.advice.shares import gain_without
from underfed_server.diagnosis import measures
from underfed_server.facts.record import RankFacts
from underfed_server.model import Advice, Evidence, Refusal


def consider(case: Case) -> Sequence[Advice | Refusal]:
    slow, cause = straggler(case), case.found("slow_rank")
    if slow is None or cause is None:
        return []
    usual = case.facts.median_rank
    excess = np.maximum(0.0, slow.steps.data_wait_us - usual.data_wait_us)
    gain = gain_without(slow.steps.step_us, excess)
    ceiling = slow.step_us / max(slow.step_us - slow.data_wait_us, 1.0)
    assumption = "All ranks then go as fast as the median rank waits; they were in step with the slow one."
    return offer_computed(case, gain, _offer(case, slow, usual), assumption, ceiling)


def straggler(case: Case) -> RankFacts | None:
    """The one that waits longest of those the verdict marks; ``None``: it marks none."""
    marked = {each.rank for each in case.verdict.ranks if each.straggler}
    slow = [rank for rank in case.facts.ranks if rank.rank in marked and len(rank.steps)]
    return max(slow, key=lambda rank: rank.data_wait_us, default=None)


def _offer(case: Case, slow: RankFacts, usual: RankFacts) -> Offer:
    host = slow.hostname or "its host"
    return Offer(
        change="fix_rank",
        to=f"rank {slow.rank} on {host}",
        title=f"Mend rank {slow.rank} on {host}",
        why=f"{_what_differs(slow, usual)} All other ranks wait for this one in every step.",
        risk="None for what is trained. Moving the rank to another host keeps the order of batches.",
        diff=_diff(case, slow),
        evidence=[
            Evidence(what=f"Rank {slow.rank} waits for data", value=slow.data_wait_us, unit="us"),
            Evidence(what="The median rank waits", value=usual.data_wait_us, unit="us"),
            Evidence(what=f"Loading a batch on rank {slow.rank}", value=_mean(slow, "load_us"), unit="us"),
            Evidence(what="On the median rank", value=_mean(usual, "load_us"), unit="us"),
        ],
        from_=slow.rank,
        in_call=False,
    )


def _what_differs(slow: RankFacts, usual: RankFacts) -> str:
    """Which part of a load takes longer there than elsewhere, by most."""
    excess = {part: (_mean(slow, part) or 0.0) - (_mean(usual, part) or 0.0) for part in REASONS}
    part = max(excess, key=lambda name: excess[name])
    return REASONS[part] if excess[part] > 0 else "Its batches arrive later than those of the others."


REASONS = {
    "blocked_us": "Its loading is blocked longer than elsewhere: its storage or network is slower.",
    "runqueue_us": "Its loading waits longer for a core than elsewhere: others use the cores of its host.",
    "cpu_us": "Its loading computes longer than elsewhere: its CPU is slower, or its samples are larger.",
}


def _mean(rank: RankFacts, part: str) -> float | None:
    return measures.mean(getattr(rank.batches, part))


def _diff(case: Case, slow: RankFacts) -> str:
    path = next((place.mount for place in case.facts.storage if place.hostname in (None, slow.hostname)), "")
    return f" # on {slow.hostname or 'its host'}, and on one of the others:\n+underfed doctor {path}".rstrip()
