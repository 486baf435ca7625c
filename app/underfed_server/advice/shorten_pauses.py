"""What to do where pauses for which no cause was seen take more of a loop's time than its waiting."""

from __future__ import annotations

from underfed_server.advice.action import Action
from underfed_server.diagnosis.sentence import UNSEEN, unseen_pauses_fraction
from underfed_server.facts.record import RankFacts, RunFacts
from underfed_server.model import Verdict


def shorten_pauses(facts: RunFacts, rank: RankFacts, verdict: Verdict) -> Action | None:
    """``None``: waiting takes more, or it was seen what they are for."""
    data = verdict.data_stall_fraction
    unseen = 0.0 if data is None else unseen_pauses_fraction(rank, facts.between, data)
    if not unseen:
        return None
    others = " other" if rank.checkpoints else ""
    title = f"Shorten the program's{others} pauses"
    return Action(
        title, f"{UNSEEN} shows what it does in them.", f"{title}: {UNSEEN} shows what it does in them.", unseen
    )
