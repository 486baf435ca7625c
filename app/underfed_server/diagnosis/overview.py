"""What a run's verdict, the lines on its loaders and its saved diagnosis all ask of its facts, found out once."""

from __future__ import annotations

from dataclasses import dataclass

from underfed_server.diagnosis.slow_ranks import SlowRanks, slow_ranks
from underfed_server.diagnosis.storage_rate import NOTHING_SHOWN, StorageShown, shown_storage
from underfed_server.facts.record import RunFacts


@dataclass(frozen=True, slots=True, eq=False)
class Overview:
    slow: SlowRanks
    storage: StorageShown
    """By the judged rank."""


def overview_of(facts: RunFacts) -> Overview:
    slow = slow_ranks(facts.ranks)
    return Overview(slow, shown_storage(facts, slow.judged) if facts.judged_steps else NOTHING_SHOWN)
