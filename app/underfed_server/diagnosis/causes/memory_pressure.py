"""Memory, its limit or /dev/shm is nearly used up, or will be within a day at the growth that was measured.

A forecast failure, a killed worker and a full /dev/shm are reported of every run, whatever they cost now; the rest only
of a run that waits for data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from underfed_server.diagnosis.cause import Cause, Found, Shared, signal
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.measures import pressure_fraction
from underfed_server.facts.growth import US_PER_HOUR, growth_per_hour, is_growing
from underfed_server.facts.record import HostShare, RankFacts
from underfed_server.measurements import Column
from underfed_server.model import Evidence, Signal

NAMES = {"memory": "memory", "limit": "the memory limit", "shm": "/dev/shm"}
SERIES = {"memory": "memory_available_bytes", "limit": "memory_used_bytes", "shm": "shm_free_bytes"}

FORECAST_HOURS = 24.0
"""A shortage is reported a day ahead: before the night in which it comes."""

STALL_FRACTION = 0.05
"""Share of time in which some task waited for memory (PSI) from which memory is short now; where there is enough it
is 0."""

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


def find(examined: Examination) -> Found | None:
    """Reports the most pressing of what was found."""
    sentence = _failure(examined) or (_shortage(examined) if examined.bound == "data" else None)
    if sentence is None:
        return None
    return Found(min(examined.unexplained, memory_stall(examined.rank) or 0.0), sentence, _evidence(examined))


def _failure(examined: Examination) -> str | None:
    """The sentence on a failure that has happened or is forecast."""
    rank = examined.rank
    near, soon = _nearly_full(examined), first_to_fill(rank, examined.facts.host)
    if died_workers(rank) and (near is not None or _is_short_now(examined)):
        return f"A worker was killed while {NAMES[near.store] if near else 'memory'} was short."
    if soon is not None and (soon.hours_left or 0.0) <= FORECAST_HOURS:
        return _forecast(examined, soon)
    if near is not None and near.store == "shm":
        return "/dev/shm is nearly full: a larger batch or a longer queue ends the run with a bus error."
    return None


def _shortage(examined: Examination) -> str | None:
    """The sentence on a shortage that slows loading or is near."""
    near = _nearly_full(examined)
    if _is_short_now(examined):
        return "Memory is short: the host swaps, and loading waits for pages."
    if near is not None and near.store == "limit":
        return "The memory limit is nearly reached: beyond it the kernel kills a process of the control group."
    return None


def _nearly_full(examined: Examination) -> Room | None:
    room = fullest(examined.rank, examined.facts.host)
    return room if room is not None and room.is_near_full else None


def _is_short_now(examined: Examination) -> bool:
    """Tasks wait for memory, or swap in use grows. Swap that was filled long ago and is not used slows nothing."""
    stall = memory_stall(examined.rank)
    return (stall is not None and stall >= STALL_FRACTION) or swap_growth_per_hour(examined.rank) is not None


def _forecast(examined: Examination, room: Room) -> str:
    workers, hours = workers_growth_per_hour(examined.rank), room.hours_left or 0.0
    when = f"{hours * 60:.0f} minutes" if hours < 2 else f"{hours:.0f} hours"
    if workers and room.bytes_per_hour and workers >= 0.5 * room.bytes_per_hour and room.store != "shm":
        return f"The workers' memory grows by {workers / 1e9:.2g} GB an hour: in {when} {NAMES[room.store]} is used up."
    return f"In {when} {NAMES[room.store]} is used up, at {(room.bytes_per_hour or 0.0) / 1e9:.2g} GB an hour."


def _evidence(examined: Examination) -> list[Evidence]:
    rank, host = examined.rank, examined.facts.host
    soon = first_to_fill(rank, host)
    hours = soon.hours_left if soon else None
    return [
        Evidence(what="Used up in", value=None if hours is None else hours * US_PER_HOUR, unit="us"),
        Evidence(what="Growth of all workers in an hour", value=workers_growth_per_hour(rank), unit="bytes"),
        *(
            Evidence(
                what=f"Left of {NAMES[room.store]}, of {room.total_bytes / 1e9:.3g} GB",
                value=room.least_left_bytes,
                unit="bytes",
                series=SERIES[room.store],
            )
            for room in rooms(rank, host)
        ),
        Evidence(what="Time in which tasks waited for memory", value=memory_stall(rank), unit="fraction"),
        Evidence(what="Growth of swap in use in an hour", value=swap_growth_per_hour(rank), unit="bytes"),
        Evidence(what="Workers that died without an exception", value=died_workers(rank), unit="count"),
    ]


def _signal(examined: Examination, is_found: bool) -> Signal | None:
    room = fullest(examined.rank, examined.facts.host)
    left = None if room is None else room.least_left_bytes / room.total_bytes
    reading = "not_measured" if left is None else "symptom" if left < NEAR_FULL_FRACTION else "ruled_out"
    measured = Evidence(what="of it", value=left, unit="fraction")
    healthy = f"over {NEAR_FULL_FRACTION * 100:.0f}%"
    name = "Memory and /dev/shm left, the fuller one"
    return signal(name, measured, healthy, "cause" if is_found else reading, "memory short")


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
    return replace(room, bytes_per_hour=growth)


CAUSE = Cause(
    label="memory short",
    find=find,
    cured_by=("num_workers", "prefetch_factor", "shm_size"),
    signals=(_signal,),
    turn="first",
    is_of_loading=True,
    at_any_bound=True,
    shared=Shared("memory", "run short of memory on"),
)
