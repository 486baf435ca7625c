"""Memory, its limit or /dev/shm is nearly used up, or will be within a day as the run's own processes grow.

A forecast failure, a killed worker and a full /dev/shm are reported of every run, whatever they cost now; the rest only
of a run that waits for data. What other processes take is stated, and not forecast: they may end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from underfed_server.diagnosis.cause import Cause, Found, Shared, signal
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.measures import pressure_fraction
from underfed_server.diagnosis.sentence import size, three_digits
from underfed_server.facts.growth import SOON_US, US_PER_HOUR, growth_per_hour, is_growing
from underfed_server.facts.record import HostShare, RankFacts
from underfed_server.measurements import Column
from underfed_server.model import Evidence, Signal

NAMES = {"memory": "memory", "limit": "the memory limit", "shm": "/dev/shm"}
SERIES = {"memory": "memory_available_bytes", "limit": "memory_used_bytes", "shm": "shm_free_bytes"}

FORECAST_HOURS = 24.0
"""A shortage is reported a day ahead: before the night in which it comes."""

USED_UP_IN = "Used up in"
"""What the forecast is called in the evidence."""

MEMORY_LEFT = "Memory and /dev/shm left, the fuller one"
"""What the row of the evidence is called."""

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
    """Growth of what is used, by any process; ``None``: it does not grow, or too little was sampled to tell."""
    own_bytes_per_hour: float | None
    """Growth of this run's processes in it; ``None``: none was seen to grow."""

    @property
    def hours_left(self) -> float | None:
        """Until the run's own growth has used it up."""
        return self.left_bytes / self.own_bytes_per_hour if self.own_bytes_per_hour else None

    @property
    def is_near_full(self) -> bool:
        return self.least_left_bytes < NEAR_FULL_FRACTION * self.total_bytes


def find(examined: Examination) -> Found | None:
    """Reports the most pressing of what was found."""
    sampled = rooms(examined)
    near = _nearly_full(sampled)
    sentence = _failure(examined, near, first_to_fill(sampled))
    if sentence is None and examined.bound == "data":
        sentence = _shortage(examined, near)
    if sentence is None:
        return None
    cost = min(examined.unexplained, memory_stall(examined.rank) or 0.0)
    return Found(cost, sentence, _evidence(examined, sampled))


def _failure(examined: Examination, near: Room | None, soon: Room | None) -> str | None:
    """The sentence on a failure that has happened or is forecast."""
    rank = examined.rank
    if died_workers(rank) and (near is not None or _is_short_now(examined)):
        return f"A worker was killed while {NAMES[near.store] if near else 'memory'} was short."
    if soon is not None and (soon.hours_left or 0.0) <= FORECAST_HOURS:
        return _forecast(examined, soon)
    if near is not None and near.store == "shm":
        return "/dev/shm is nearly full: a larger batch or a longer queue ends the run with a bus error."
    return None


def _shortage(examined: Examination, near: Room | None) -> str | None:
    """The sentence on a shortage that slows loading or is near."""
    if _is_short_now(examined):
        return "Memory is short: the host swaps, and loading waits for pages."
    if near is not None and near.store == "limit":
        return "The memory limit is nearly reached: beyond it the kernel kills a process of the control group."
    return None


def _nearly_full(sampled: Sequence[Room]) -> Room | None:
    room = fullest(sampled)
    return room if room is not None and room.is_near_full else None


def _is_short_now(examined: Examination) -> bool:
    """Tasks wait for memory, or swap in use grows. Swap that was filled long ago and is not used slows nothing."""
    stall = memory_stall(examined.rank)
    return (stall is not None and stall >= STALL_FRACTION) or swap_growth_per_hour(examined.rank) is not None


def _forecast(examined: Examination, room: Room) -> str:
    workers = workers_growth_per_hour(examined.facts.on_host_of(examined.rank))
    hours, own = room.hours_left or 0.0, room.own_bytes_per_hour
    when = f"{hours * 60:.0f} minutes" if hours < 2 else f"{hours:.0f} hours"
    seen = f", as it did for {three_digits(sampled_us(examined.rank) / 60e6)} minutes"
    if workers and own and workers >= 0.5 * own and room.store != "shm":
        grows = f"The workers' memory grows by {size(workers)} an hour{seen}"
        return f"{grows}: in {when} {NAMES[room.store]} is used up."
    return f"In {when} {NAMES[room.store]} is used up: this run takes {size(own or 0.0)} more an hour{seen}."


def _evidence(examined: Examination, sampled: Sequence[Room]) -> list[Evidence]:
    rank, soon = examined.rank, first_to_fill(sampled)
    hours = soon.hours_left if soon else None
    return [
        Evidence(what=USED_UP_IN, value=None if hours is None else hours * US_PER_HOUR, unit="us"),
        *_growth(examined, sampled),
        *(
            Evidence(
                what=f"Left of {NAMES[room.store]}, of {size(room.total_bytes)}",
                value=room.least_left_bytes,
                unit="bytes",
                series=SERIES[room.store],
            )
            for room in sampled
        ),
        Evidence(what="Time in which tasks waited for memory", value=memory_stall(rank), unit="fraction"),
        Evidence(what="Growth of swap in use in an hour", value=swap_growth_per_hour(rank), unit="bytes"),
        Evidence(what="Workers that died without an exception", value=died_workers(rank), unit="count"),
    ]


def _growth(examined: Examination, sampled: Sequence[Room]) -> list[Evidence]:
    """In an hour, of this run's processes, and of others on the host."""
    ranks = examined.facts.on_host_of(examined.rank)
    beside = [(room.bytes_per_hour or 0.0) - (room.own_bytes_per_hour or 0.0) for room in sampled]
    others = max(beside, default=0.0)
    return [
        Evidence(what="Growth of all workers in an hour", value=workers_growth_per_hour(ranks), unit="bytes"),
        Evidence(what="Growth of the training in an hour", value=training_growth_per_hour(ranks), unit="bytes"),
        Evidence(what="Growth of other processes in an hour", value=others if others > 0 else None, unit="bytes"),
    ]


def _signal(examined: Examination, is_found: bool) -> Signal | None:
    room = fullest(rooms(examined))
    left = None if room is None else room.least_left_bytes / room.total_bytes
    reading = "not_measured" if left is None else "symptom" if left < NEAR_FULL_FRACTION else "ruled_out"
    measured = Evidence(what="of it", value=left, unit="fraction")
    healthy = f"over {NEAR_FULL_FRACTION * 100:.0f}%"
    return signal(MEMORY_LEFT, measured, healthy, "cause" if is_found else reading, "low memory")


def rooms(examined: Examination) -> tuple[Room, ...]:
    """Those that were sampled."""
    sampled, host = examined.rank.memory, examined.facts.host
    if sampled is None:
        return ()
    left: dict[Store, tuple[int | None, Column]] = {
        "memory": (host.memory_total_bytes, sampled.memory_available_bytes),
        "limit": (host.memory_limit_bytes, _left_of(host, sampled.memory_used_bytes)),
        "shm": (host.shm_total_bytes, sampled.shm_free_bytes),
    }
    known = (_room(examined, store, *of_it, sampled.at_us) for store, of_it in left.items())
    return tuple(room for room in known if room is not None)


def first_to_fill(sampled: Sequence[Room]) -> Room | None:
    """The one that the run uses up first as it grows; ``None``: it does not grow."""
    growing = [room for room in sampled if room.hours_left is not None]
    return min(growing, key=lambda room: room.hours_left or 0.0, default=None)


def fullest(sampled: Sequence[Room]) -> Room | None:
    """The one with the smallest share left; ``None``: not sampled."""
    return min(sampled, key=lambda room: room.least_left_bytes / room.total_bytes, default=None)


def workers_growth_per_hour(ranks: Sequence[RankFacts]) -> float | None:
    """``None``: no worker was seen to grow."""
    return sum(filter(None, (rank.workers_bytes_per_hour for rank in ranks))) or None


def training_growth_per_hour(ranks: Sequence[RankFacts]) -> float | None:
    """Of training processes, with the shared memory that they have mapped; ``None``: none was seen to grow."""
    processes = [rank.process for rank in ranks]
    return sum(each.bytes_per_hour for each in processes if each.is_growing and each.bytes_per_hour) or None


def swap_growth_per_hour(rank: RankFacts) -> float | None:
    """``None``: swap in use does not grow, or was not sampled."""
    sampled = rank.host
    if sampled is None or not is_growing(sampled.at_us, sampled.swap_used_bytes, SOON_US):
        return None
    return growth_per_hour(sampled.at_us, sampled.swap_used_bytes, SOON_US)


def memory_stall(rank: RankFacts) -> float | None:
    """Share of the judged span in which some task waited for memory (PSI)."""
    return None if rank.host is None else pressure_fraction(rank.host, rank.host.memory_pressure_us)


def sampled_us(rank: RankFacts) -> float:
    """For how long what growth is read off was sampled."""
    return 0.0 if rank.memory is None or not len(rank.memory.at_us) else float(np.ptp(rank.memory.at_us))


def died_workers(rank: RankFacts) -> int:
    return sum(each.died for each in rank.workers)


def _left_of(host: HostShare, used_bytes: Column) -> Column:
    return used_bytes * np.nan if host.memory_limit_bytes is None else host.memory_limit_bytes - used_bytes


def _room(
    examined: Examination, store: Store, total_bytes: int | None, left_bytes: Column, at_us: Column
) -> Room | None:
    known = left_bytes[np.isfinite(left_bytes)]
    if not total_bytes or not len(known):
        return None
    used = total_bytes - left_bytes
    growth = growth_per_hour(at_us, used) if is_growing(at_us, used) else None
    own = _own_in(examined, store, growth or 0.0)
    return Room(store, total_bytes, max(0, int(np.min(known))), max(0, int(known[-1])), growth, own or None)


def _own_in(examined: Examination, store: Store, growth: float) -> float:
    """What the run's processes gain, at most ``growth``: files that they map are resident, and take no memory. Workers
    gain memory also while others free as much: what is left does not shrink yet, and will.
    """
    ranks = examined.facts.on_host_of(examined.rank)
    workers = workers_growth_per_hour(ranks) or 0.0
    within = min(growth, workers + (training_growth_per_hour(ranks) or 0.0))
    return within if store == "shm" else max(workers, within)


CAUSE = Cause(
    label="low memory",
    find=find,
    cured_by=("num_workers", "prefetch_factor", "shm_size"),
    signals=(_signal,),
    turn="first",
    is_of_loading=True,
    at_any_bound=True,
    shared=Shared("memory", "run short of memory on"),
)
