"""Give the slow rank the same storage, cores or share of the data as the ranks that wait for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer
from underfed_server.advice.proof.traits import gone
from underfed_server.advice.shares import gain_without
from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.sentence import duration, host_of
from underfed_server.facts.record import RankFacts
from underfed_server.model import Evidence


def consider(case: Case) -> Offer | None:
    slow = _straggler(case)
    if slow is None:
        return None
    usual = case.facts.median_rank
    differs, has_other_hosts = _what_differs(slow, usual), len({each.hostname for each in case.facts.ranks}) > 1
    elsewhere = " Or move the rank to another host." if has_other_hosts else ""
    name = f"rank {slow.rank}{host_of(slow, case.facts.ranks)}"
    return Offer(
        to=name,
        title=differs.title.format(name),
        why=f"{_loads(slow, usual)}{differs.why}{elsewhere} All other ranks wait for it in every step.",
        risk="None for the training: batches keep their order.",
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


@dataclass(frozen=True, slots=True)
class Reason:
    """``title``: what to do, for the rank in its braces."""

    title: str
    why: str


def _what_differs(slow: RankFacts, usual: RankFacts) -> Reason:
    """Which part of a load takes longer than on the median rank, by most."""
    excess = {part: (_mean(slow, part) or 0.0) - (_mean(usual, part) or 0.0) for part in REASONS}
    part = max(excess, key=lambda name: excess[name])
    return REASONS[part] if excess[part] > 0 else LATE


def _loads(slow: RankFacts, usual: RankFacts) -> str:
    own, others = _mean(slow, "load_us"), _mean(usual, "load_us")
    if own is None or others is None:
        return ""
    return f"It loads a batch in {duration(own)} on average, the median rank in {duration(others)}. "


LATE = Reason("Look where {} waits for its batches", "They arrive later than those of the others, and load as fast.")

REASONS = {
    "blocked_us": Reason(
        "Copy the data of {} to where the others read theirs",
        "Its loading is blocked for longer: what it reads from, storage or network, is slower. The command below tells "
        "what each of them reads from.",
    ),
    "runqueue_us": Reason(
        "Free cores for {}",
        "Its loading waits longer for a core: other processes use the cores that it may use. End or move these, or "
        "give the rank other cores.",
    ),
    "cpu_us": Reason(
        "Give {} as little to compute as the others",
        "Its loading computes for longer: its samples are larger, or its CPU is slower. Shuffle samples over all "
        "ranks, and compare the CPUs with the command below.",
    ),
}


def _mean(rank: RankFacts, part: str) -> float | None:
    return measures.mean(getattr(rank.batches, part))


def _diff(case: Case, slow: RankFacts) -> str:
    path = next((place.mount for place in case.facts.storage if place.hostname in (None, slow.hostname)), "PATH")
    hosts = {each.hostname for each in case.facts.ranks}
    where = f"on {slow.hostname or 'its host'}, and on one of the others"
    if len(hosts) == 1:
        where = f"with a path that rank {slow.rank} reads, and with one that another rank reads"
    return f" # Run it {where}:\n+underfed doctor {path}"


CHANGE = Change(
    label="speed up the slow rank",
    consider=consider,
    is_of_its_causes=True,
    sign=gone("has_straggler"),
    alters_work=True,
)
