"""The share of waiting that a headline states: that of all the time which the hours beside it are counted over."""

from __future__ import annotations

from dataclasses import dataclass, replace

from underfed_server.diagnosis.bound import LostShares, find_level
from underfed_server.diagnosis.chosen_loader import lost_us
from underfed_server.diagnosis.rounded import percent
from underfed_server.diagnosis.slow_ranks import SlowRanks
from underfed_server.facts.record import LoaderFacts, RunFacts, run_us

ALIKE = 0.02
"""Up to which the judged steps and all of them have one share. A first batch of a second moves that of a run of
a minute by as much; a reader who divides the hours takes more for a mistake."""

PAUSED_FRACTION = 0.05
"""Of the loop's time, in what the program does beside training, from which a share that leaves it out says so."""


@dataclass(frozen=True, slots=True)
class HeadlineShare:
    """Shares of the run's time, or of that of its judged steps where that is clearly another one."""

    own: float
    """For the judged loader."""
    others: float
    """For the other loaders of its loop."""
    beside: float = 0.0
    """For loaders of other loops."""
    of_all: float | None = None
    """Of all the time, where the others are of the judged steps."""
    of_judged: float | None = None
    """Of the judged steps, where the others are of all the time and are written differently."""

    @property
    def whole(self) -> float:
        return min(1.0, self.own + self.others + self.beside)

    def is_of_level(self, losses: LostShares) -> bool:
        """Whether the word of the verdict is that of this share, without other loaders of the loop where it is these
        that it waits for."""
        others = self.others if losses.loop > losses.data else 0.0
        return find_level(min(1.0, self.own + others + self.beside)) == find_level(losses.loop)


def headline_share(facts: RunFacts, slow: SlowRanks, losses: LostShares, *, is_of_run: bool = True) -> HeadlineShare:
    """``facts``: with judged steps, of which ``losses`` are. ``is_of_run``: of all its loaders, else of those
    of the judged one's loop.

    What a headline says of steps since a change, of a thread that reads ahead, or of a few steps alone is of these.
    """
    rank = slow.judged
    judged = HeadlineShare(losses.data, rank.others_stall_fraction)
    if rank.changed is not None or rank.is_read_ahead or losses.is_event:
        return judged
    found = _of_all(facts, slow, is_of_run=is_of_run)
    if found is None:
        return judged
    if abs(found.whole - judged.whole) >= ALIKE or not found.is_of_level(losses):
        return HeadlineShare(judged.own, judged.others, of_all=found.whole)
    is_other = percent(found.whole) != percent(judged.whole)
    return replace(found, of_judged=judged.whole) if is_other else found


def _of_all(facts: RunFacts, slow: SlowRanks, *, is_of_run: bool) -> HeadlineShare | None:
    own, mates, beside = facts.judged_loader, list[LoaderFacts](), list[LoaderFacts]()
    for each in facts.loaders if own else ():
        if own and each is not own:
            (mates if each.loop == own.loop else beside).append(each)
    counted = [each for each in (own, *mates, *(beside if is_of_run else ())) if each is not None]
    used_us = run_us(counted) if counted else sum(rank.total_step_us for rank in facts.ranks)
    # Pauses are known of the judged loop alone, and counted in a run that has no other.
    paused = slow.judged.paused_fraction if len(facts.loaders) < 2 else 0.0
    used_us *= 1 - paused if paused >= PAUSED_FRACTION else 1.0
    if used_us <= 0:
        return None
    lost = (slow.input_lost_us, sum(map(lost_us, mates)), sum(map(lost_us, beside)) if is_of_run else 0.0)
    shares = (min(1.0, each / used_us) for each in lost)
    return HeadlineShare(*shares)
