"""Repair the host or the storage of the one rank that the others wait for."""

from __future__ import annotations

import numpy as np

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer
from underfed_server.advice.proof.traits import gone
from underfed_server.advice.shares import gain_without
from underfed_server.diagnosis import evidence, measures
from underfed_server.facts.record import RankFacts
from underfed_server.model import Evidence


def consider(case: Case) -> Offer | None:
    slow = _straggler(case)
    if slow is None:
        return None
    usual = case.facts.median_rank
    host = slow.hostname or "its host"
    return Offer(
        to=f"rank {slow.rank} on {host}",
        title=f"Repair rank {slow.rank} on {host}",
        why=f"{_what_differs(slow, usual)} All other ranks wait for it in every step.",
        risk="None for the training. Moving the rank to another host keeps the order of batches.",
        diff=_diff(case, slow),
        sketch=None,
        evidence=[
            Evidence(what=f"Rank {slow.rank} waits for data", value=slow.data_wait_us, unit="us"),
            Evidence(what="The median rank waits", value=usual.data_wait_us, unit="us"),
            evidence.mean_us(f"Loading one batch on rank {slow.rank}", slow.batches.load_us),
            evidence.mean_us("Loading one batch on the median rank", usual.batches.load_us),
        ],
        from_=slow.rank,
        gain=gain_without(slow.steps.step_us, np.maximum(0.0, slow.steps.data_wait_us - usual.data_wait_us)),
        assumption="All ranks then wait as long as the median rank does; until now they kept pace with the slow one.",
        ceiling=case.ceiling(slow),
    )


def _straggler(case: Case) -> RankFacts | None:
    """The one that waits longest of those the verdict marks; ``None``: it marks none."""
    marked = {each.rank for each in case.verdict.ranks if each.straggler}
    slow = [rank for rank in case.facts.ranks if rank.rank in marked and len(rank.steps)]
    return max(slow, key=lambda rank: rank.data_wait_us, default=None)


def _what_differs(slow: RankFacts, usual: RankFacts) -> str:
    """Which part of a load takes longer than on the median rank, by most."""
    excess = {part: (_mean(slow, part) or 0.0) - (_mean(usual, part) or 0.0) for part in REASONS}
    part = max(excess, key=lambda name: excess[name])
    return REASONS[part] if excess[part] > 0 else "Its batches arrive later than those of the others."


REASONS = {
    "blocked_us": "Its loading is blocked for longer than on other ranks: its storage or network is slower.",
    "runqueue_us": "Its loading waits longer for a core than on other ranks: other processes use its host.",
    "cpu_us": "Its loading computes for longer than on other ranks: its CPU is slower, or its samples are larger.",
}


def _mean(rank: RankFacts, part: str) -> float | None:
    return measures.mean(getattr(rank.batches, part))


def _diff(case: Case, slow: RankFacts) -> str:
    path = next((place.mount for place in case.facts.storage if place.hostname in (None, slow.hostname)), "")
    hosts = {each.hostname for each in case.facts.ranks}
    where = f"on {slow.hostname or 'its host'}, and on one of the others"
    if len(hosts) == 1:
        where = f"on rank {slow.rank}'s path, and on another rank's"
    return f" # {where}:\n+underfed doctor {path}".rstrip()


CHANGE = Change(
    label="repair the slow rank",
    consider=consider,
    sign=gone("has_straggler"),
)
