"""What a run is bound by: the larger of its losses to data and to copies, then the device's other idle time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from underfed_server.diagnosis.measures import exposed_copy_us, input_lost_fraction
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.lockstep import Lockstep
from underfed_server.facts.record import RankFacts, epoch_starts
from underfed_server.model import Bound, Level

HOST_IDLE_FRACTION = 0.20
"""Share of time that the device is idle with its input ready, from which the program around it is the limit. Gaps
between kernels take some per cent, and NVML averages over 1/6 to 1 s."""

HICCUP_FRACTION = 0.001
"""This share of the steps (at least one) may have waited long for another reason than the loader: a network that hung,
a page cache that was dropped."""

KEEP_FACTOR = 0.8
"""A running run keeps its verdict until the loss is below this share of the limit that it had to reach: the mean
wait of 50 steps is known to ±10 %."""

PART_OF_EVENT = 0.5
"""Of the loop's stall: where more than this is left without a few steps, the stall is no event of these."""

PART_OF_LOOP = 0.5
"""A loader that a loop waits for at least half as long as for its others is one of those that bind it: of three that
are waited for equally long, each is. One that is ready most of the time is not, however long another one takes."""


@dataclass(frozen=True, slots=True)
class LostShares:
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
    """The fewest of those without which the loop would hardly be stalled; all of them where it would be still."""

    @property
    def is_event(self) -> bool:
        """The stall lies in a few steps."""
        return self.loop >= THRESHOLDS.limited_fraction and not self.lasts(THRESHOLDS.limited_fraction)

    def lasts(self, least: float) -> bool:
        """Whether the loop would still be stalled without those few steps, or they are the smaller part of it."""
        return _lasts(self.lasting, self.loop, least)


def _lasts(lasting: float, loop: float, least: float) -> bool:
    return lasting >= min(least, PART_OF_EVENT * loop)


def read_losses(rank: RankFacts, together: Lockstep | None = None) -> LostShares:
    """``rank``: one with judged steps. ``together``: ranks that are late in turn, which lose more together."""
    copy_us = exposed_copy_us(rank)
    transfer = None if copy_us is None else min(1.0, copy_us / rank.step_us)
    hiccups = max(1, int(HICCUP_FRACTION * len(rank.steps)))
    data = rank.stall_fraction if together is None else together.lost_fraction
    is_part = data >= max(THRESHOLDS.watch_fraction, PART_OF_LOOP * rank.others_stall_fraction)
    others = rank.others_stall_fraction if is_part else 0.0

    def lasting(without: int) -> float:
        own = _lasting(rank, without) if together is None else _lasting_of_all(together, without)
        return own + others

    fewer = range(1, hiccups)
    return LostShares(
        data=data,
        loop=data + others,
        transfer=transfer,
        host=_host_idle(rank, transfer or 0.0),
        lasting=lasting(hiccups),
        hiccups=next(
            (some for some in fewer if not _lasts(lasting(some), data + others, THRESHOLDS.limited_fraction)), hiccups
        ),
    )


def find_bound(losses: LostShares, before: Bound | None = None) -> Bound:
    """``before``: the verdict that a running run keeps while its loss is not clearly below the limit."""

    def limit(bound: Bound, usual: float) -> float:
        return usual * KEEP_FACTOR if bound == before else usual

    least = limit("data", THRESHOLDS.limited_fraction)
    data = losses.loop if losses.loop >= least and losses.lasts(least) else 0.0
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
