"""What to do where a function of the program's own takes more of a loop's time than waiting, and trains nothing."""

from __future__ import annotations

from underfed_server.advice.action import Action
from underfed_server.diagnosis.beside_training import between_fraction
from underfed_server.diagnosis.own_work import own_works
from underfed_server.diagnosis.rounded import percent
from underfed_server.diagnosis.sentence import outweighs
from underfed_server.facts.record import RankFacts, RunFacts
from underfed_server.model import Verdict

BOUND = ("data", "host")
"""Of a run that computes all the time, its functions are part of that."""


def call_less(facts: RunFacts, rank: RankFacts, verdict: Verdict) -> Action | None:
    """``None``: waiting takes more, the run was not profiled, or there is no such function."""
    data = verdict.data_stall_fraction
    if data is None or facts.between is None or verdict.bound not in BOUND:
        return None
    for work in own_works(facts.between, between_fraction(rank))[:1]:
        if outweighs(work.of_loop, data):
            takes = f"takes {percent(work.of_loop)} of the loop's time."
            return Action(
                f"Make {work.name} cheaper, or call it in fewer steps",
                f"{work}, {takes}",
                f"Make {work}, cheaper, or call it in fewer steps: it {takes}",
                work.of_loop,
            )
    return None
