"""How much memory is left, and when it will be used up at the growth that was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from underfed_server.diagnosis.measures import pressure_fraction
from underfed_server.facts.growth import growth_per_hour, is_growing
from underfed_server.facts.record import HostShare, RankFacts
from underfed_server.measurements import Column

NEAR_FULL_FRACTION = 0.10
"""Of memory, its limit or /dev/shm left, below which a longer queue or larger samples fill it."""

Store = Literal["memory", "limit", "shm"]
"""The host's memory, the control group's limit of it, /dev/shm."""


@dataclass(frozen=True, slots=True)
class Room:
    """What is left of one kind of memory, and how fast its use grows."""

    store: Store
    total_bytes: int
    least_left_bytes: int
    """At its fullest within the judged span."""
    left_bytes: int
    """As last sampled."""
    bytes_per_hour: float | None
    """Growth of what is used; ``None``: it does not grow, or too little was sampled to tell."""

    @property
    def hours_left(self) -> float | None:
        return self.left_bytes / self.bytes_per_hour if self.bytes_per_hour else None

    @property
    def is_near_full(self) -> bool:
        return self.least_left_bytes < NEAR_FULL_FRACTION * self.total_bytes


def rooms(rank: RankFacts, host: HostShare) -> tuple[Room, ...]:
    """Those that were sampled over the judged span."""
    sampled = rank.host
    if sampled is None:
        return ()
    known = (
        _room("memory", host.memory_total_bytes, sampled.at_us, sampled.memory_available_bytes),
        _room("limit", host.memory_limit_bytes, sampled.at_us, _left_of(host, sampled.memory_used_bytes)),
        _room("shm", host.shm_total_bytes, sampled.at_us, sampled.shm_free_bytes),
    )
    return tuple(_with_workers(room, rank) for room in known if room is not None)


def first_to_fill(rank: RankFacts, host: HostShare) -> Room | None:
    """The one that is used up first at its growth; ``None``: none grows."""
    growing = [room for room in rooms(rank, host) if room.hours_left is not None]
    return min(growing, key=lambda room: room.hours_left or 0.0, default=None)


def fullest(rank: RankFacts, host: HostShare) -> Room | None:
    """The one with the smallest share left; ``None``: not sampled."""
    return min(rooms(rank, host), key=lambda room: room.least_left_bytes / room.total_bytes, default=None)


def workers_growth_per_hour(rank: RankFacts) -> float | None:
    """Bytes by which all growing workers together grow; ``None``: none was seen to."""
    growing = [each.bytes_per_hour for each in rank.workers if each.is_growing and each.bytes_per_hour]
    return sum(growing) if growing else None


def swap_growth_per_hour(rank: RankFacts) -> float | None:
    """``None``: swap in use does not grow, or was not sampled."""
    sampled = rank.host
    if sampled is None or not is_growing(sampled.at_us, sampled.swap_used_bytes):
        return None
    return growth_per_hour(sampled.at_us, sampled.swap_used_bytes)


def memory_stall(rank: RankFacts) -> float | None:
    """Share of the judged span in which some task waited for memory (PSI)."""
    return None if rank.host is None else pressure_fraction(rank.host, rank.host.memory_pressure_us)


def died_workers(rank: RankFacts) -> int:
    return sum(each.died for each in rank.workers)


def _left_of(host: HostShare, used_bytes: Column) -> Column:
    return used_bytes * np.nan if host.memory_limit_bytes is None else host.memory_limit_bytes - used_bytes


def _room(store: Store, total_bytes: int | None, at_us: Column, left_bytes: Column) -> Room | None:
    known = left_bytes[np.isfinite(left_bytes)]
    if not total_bytes or not len(known):
        return None
    used = total_bytes - left_bytes
    growth = growth_per_hour(at_us, used) if is_growing(at_us, used) else None
    return Room(store, total_bytes, max(0, int(np.min(known))), max(0, int(known[-1])), growth)


def _with_workers(room: Room, rank: RankFacts) -> Room:
    """While others free what the workers take, the memory left does not shrink yet, and will."""
    growth = workers_growth_per_hour(rank)
    if room.store == "shm" or growth is None or growth <= (room.bytes_per_hour or 0.0):
        return room
    return Room(room.store, room.total_bytes, room.least_left_bytes, room.left_bytes, growth)
