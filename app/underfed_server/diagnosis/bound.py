"""What a run is bound by, and by which of its ranks it is judged.

Of ranks in lockstep the slowest sets the pace, be it by its loader or by its work, else the median speaks for all. The
run is bound by the larger of its losses to data and to copies, then by the device's other idle time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from underfed_server.diagnosis.measures import exposed_copy_us, input_lost_fraction, mean
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.lockstep import Lockstep, have_equal_steps, in_lockstep, longer_work_us
from underfed_server.facts.record import RankFacts, epoch_starts, median_of
from underfed_server.model import Bound, Level, RankDiagnosis

HOST_IDLE_FRACTION = 0.20
"""Share of time that the device is idle with its input ready, from which the program around it is the limit. Gaps
between kernels take some per cent, and NVML averages over 1/6 to 1 s."""

HICCUP_FRACTION = 0.001
"""This share of the steps (at least one) may have waited long for another reason than the loader: a network that hung,
a page cache that was dropped."""

KEEP_FACTOR = 0.8
"""A running run keeps its verdict until the loss is below this share of the limit that it had to reach: the mean
wait of 50 steps is known to ±10 %."""

PART_OF_LOOP = 0.5
"""A loader that a loop waits for at least half as long as for its others is one of those that bind it: of three that
are waited for equally long, each is. One that is ready most of the time is not, however long another one takes."""

STRAGGLER_FRACTION = 0.10
"""Share of step time that a rank waits longer than the median rank. TraceML warns of a straggler from 10 %."""


class OfRanks(Protocol):
    """A run, or one of its loaders."""

    @property
    def ranks(self) -> Sequence[RankFacts]: ...


def judged_rank(facts: OfRanks) -> RankFacts:
    """The worst straggler where there is one: all others wait for it whenever they synchronise. Where one works longer
    than the others, that one: what they wait for their input beyond its wait, no loader can save.

    Raises:
        ValueError: no rank has a judged step.
    """
    if slow := stragglers(facts):
        return max(slow, key=lambda rank: rank.stall_fraction)
    at_work = slow_at_work(facts)
    return at_work.rank if at_work else median_of(facts.ranks)


def reported_rank(ranks: Sequence[RankDiagnosis]) -> int | None:
    """The judged rank by a saved verdict on the ranks; ``None``: none was judged."""
    known = [each for each in ranks if each.data_stall_fraction is not None]
    judged = sorted(known, key=lambda each: each.data_stall_fraction or 0.0)
    slow = [each.rank for each in judged if each.straggler or each.works_longer]
    return slow[-1] if slow else judged[(len(judged) - 1) // 2].rank if judged else None


def stragglers(facts: OfRanks) -> tuple[RankFacts, ...]:
    """Ranks whose input keeps the others waiting; none where each goes at its own pace.

    Found by their waits: synchronous training makes the steps of all ranks equally long.
    """
    ranks = [rank for rank in facts.ranks if len(rank.steps)]
    if not have_equal_steps(ranks):
        return ()
    usual = median_of(ranks)
    slow = tuple(rank for rank in ranks if rank.stall_fraction - usual.stall_fraction >= STRAGGLER_FRACTION)
    return () if len(ranks) == 2 and slow and not _loads_longer(slow[0], usual) else slow


@dataclass(frozen=True, slots=True)
class SlowWork:
    rank: RankFacts
    longer_us: float
    """At least so much longer than the work of each other rank, of the mean step."""

    @property
    def lost_fraction(self) -> float:
        """Share of each step in which the others wait for input, and would wait for this rank without that."""
        return self.longer_us / self.rank.step_us

    def lost_us(self, ranks: Sequence[RankFacts]) -> float:
        """Of all ranks, over the whole run."""
        waits = [each.total_stall_us for each in ranks if each.rank != self.rank.rank]
        return len(ranks) * max(0.0, min(waits) - self.rank.total_stall_us)


def slow_at_work(facts: OfRanks) -> SlowWork | None:
    """The rank whose own work keeps the others waiting inside their steps: alone it waits less for its input than they
    do, whose batches come while they wait for it. ``None``: there is none, or nobody waits for input.
    """
    ranks = sorted((rank for rank in facts.ranks if len(rank.steps)), key=lambda rank: rank.stall_fraction)
    if not have_equal_steps(ranks) or stragglers(facts):
        return None
    least, next_least, most = ranks[0], ranks[1], ranks[-1]
    is_alone = next_least.stall_fraction - least.stall_fraction >= STRAGGLER_FRACTION
    if not is_alone or _loads_longer(most, least):
        return None
    longer_us = longer_work_us(ranks, least)
    return SlowWork(least, longer_us) if longer_us else None


def input_lost_us(facts: OfRanks) -> float:
    """Of the whole run and all ranks, what waiting for input cost."""
    waits = sum(rank.total_stall_us for rank in facts.ranks)
    if slow := slow_at_work(facts):
        return sum(min(rank.total_stall_us, slow.rank.total_stall_us) for rank in facts.ranks)
    # Each waits for all of them, inside its step.
    if late := stragglers(facts):
        return len(facts.ranks) * max(rank.total_stall_us for rank in late)
    if together := late_in_turn(facts):
        return min(waits * together.lost_for_waited, sum(rank.total_step_us for rank in facts.ranks))
    return waits


def _loads_longer(rank: RankFacts, other: RankFacts) -> bool:
    """Its batches take longer to load. True where that was not measured."""
    loads = mean(rank.batches.load_us), mean(other.batches.load_us)
    return loads[0] is None or loads[1] is None or loads[0] >= (1 + STRAGGLER_FRACTION) * loads[1]


def late_in_turn(facts: OfRanks) -> Lockstep | None:
    """Ranks in step of which none is the slow one, and yet the job waits far longer than each of them by itself."""
    together = None if stragglers(facts) or slow_at_work(facts) else in_lockstep(facts.ranks)
    if together is None or together.lost_fraction - median_of(facts.ranks).stall_fraction < STRAGGLER_FRACTION:
        return None
    return together


@dataclass(frozen=True, slots=True)
class Losses:
    """Shares of step time. ``None``: not measured."""

    data: float
    loop: float
    """With what the same loop waits for its other loaders, where ``data`` is a good part of both."""
    transfer: float | None
    host: float | None
    """The device is idle with its input ready. Only by the device's clock, with GPU-Util beside it."""
    lasting: float
    """What is left of ``loop`` without the longest waits of a few steps for the judged loader."""
    hiccups: int
    """How many steps those are."""

    @property
    def is_event(self) -> bool:
        """The stall lies in a few steps."""
        return self.loop >= THRESHOLDS.limited_fraction > self.lasting


def read_losses(rank: RankFacts, together: Lockstep | None = None) -> Losses:
    """``rank``: one with judged steps. ``together``: ranks that are late in turn, which lose more together."""
    copy_us = exposed_copy_us(rank)
    transfer = None if copy_us is None else min(1.0, copy_us / rank.step_us)
    hiccups = max(1, int(HICCUP_FRACTION * len(rank.steps)))
    data = rank.stall_fraction if together is None else together.lost_fraction
    is_part = data >= max(THRESHOLDS.watch_fraction, PART_OF_LOOP * rank.others_stall_fraction)
    others = rank.others_stall_fraction if is_part else 0.0
    return Losses(
        data=data,
        loop=data + others,
        transfer=transfer,
        host=_host_idle(rank, transfer or 0.0),
        lasting=(_lasting(rank, hiccups) if together is None else _lasting_of_all(together, hiccups)) + others,
        hiccups=hiccups,
    )


def find_bound(losses: Losses, before: Bound | None = None) -> Bound:
    """``before``: the verdict that a running run keeps while its loss is not clearly below the limit."""

    def limit(bound: Bound, usual: float) -> float:
        return usual * KEEP_FACTOR if bound == before else usual

    least = limit("data", THRESHOLDS.limited_fraction)
    data = losses.loop if losses.loop >= least and losses.lasting >= least else 0.0
    transfer = losses.transfer or 0.0
    if transfer >= limit("transfer", THRESHOLDS.limited_fraction):
        larger = THRESHOLDS.clearly_larger_factor
        margin = {"transfer": 1 / larger, "data": larger}.get(before or "", 1.0)
        if transfer > data * margin:
            return "transfer"
    if data:
        return "data"
    is_host = losses.host is not None and losses.host >= limit("host", HOST_IDLE_FRACTION)
    return "host" if is_host else "compute"


def find_level(fraction: float) -> Level:
    if fraction < THRESHOLDS.watch_fraction:
        return "healthy"
    if fraction < THRESHOLDS.limited_fraction:
        return "watch"
    return "limited" if fraction < THRESHOLDS.bound_fraction else "bound"


def _host_idle(rank: RankFacts, transfer: float) -> float | None:
    """GPU-Util is the share of time in which any kernel ran. Idle time after waits that delayed the host is input's."""
    if not rank.has_device_clock or rank.gpu_util is None:
        return None
    by_input = max(rank.stall_fraction, input_lost_fraction(rank) or 0.0)
    return max(0.0, 1 - rank.gpu_util - by_input - transfer)


def _lasting(rank: RankFacts, hiccups: int) -> float:
    """An epoch's first step waits by its nature; any other wait that does not come back is an event."""
    steps = rank.steps
    within = np.where(epoch_starts(steps), 0.0, steps.data_wait_us)
    longest = np.argsort(within)[-hiccups:]
    rest_us = float(np.sum(steps.data_wait_us)) - float(np.sum(within[longest]))
    share = rank.stall_us / rank.data_wait_us if rank.data_wait_us > 0 else 0.0
    return min(1.0, share) * max(0.0, rest_us) / float(np.sum(steps.step_us) - np.sum(within[longest]))


def _lasting_of_all(together: Lockstep, hiccups: int) -> float:
    rest = np.argsort(together.lost_us)[:-hiccups]
    work = float(np.sum(together.work_us))
    lost = float(np.sum(together.lost_us[rest]))
    return lost / (work + lost)
