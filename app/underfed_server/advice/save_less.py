"""What to do where checkpoints take more of a loop's time than its waiting: no setting of the loader changes it."""

from __future__ import annotations

from underfed_server.advice.action import Action
from underfed_server.diagnosis.checkpoints import HOW
from underfed_server.diagnosis.sentence import outweigh_waiting, told_of_saving
from underfed_server.facts.record import RankFacts, RunFacts
from underfed_server.model import Verdict

SAVE_LESS = (
    f"Save checkpoints less often, or while training goes on with torch.distributed.checkpoint.async_save ({HOW})."
)


def save_less(facts: RunFacts, rank: RankFacts, verdict: Verdict) -> Action | None:
    """``None``: waiting takes more, the pauses are for something else, or there is no verdict."""
    data = verdict.data_stall_fraction
    if data is None or not outweigh_waiting(rank, data):
        return None
    if not told_of_saving(rank, facts.between):
        return None
    while_training = f"Or save while training goes on, with torch.distributed.checkpoint.async_save ({HOW})."
    return Action("Save checkpoints less often", while_training, SAVE_LESS, rank.checkpoint_fraction)
