"""``memory_pressure``: memory, its limit or /dev/shm is short, or will be: a failure is told before it happens.

A forecast failure, a killed worker and a full /dev/shm are told of every run, whatever they cost now; the rest only of
one that waits for data.
"""

from __future__ import annotations

from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.memory import (
    Room,
    died_workers,
    first_to_fill,
    fullest,
    memory_stall,
    rooms,
    swap_growth_per_hour,
    workers_growth_per_hour,
)
from underfed_server.model import CauseFinding, Evidence

NAMES = {"memory": "memory", "limit": "the memory limit", "shm": "/dev/shm"}
US_PER_HOUR = 3.6e9


def find(judged: Judged, limits: Limits) -> CauseFinding | None:
    sentence = _sentence(judged, limits)
    if sentence is None:
        return None
    return CauseFinding(
        cause="memory_pressure",
        cost_fraction=min(judged.loading_left, memory_stall(judged.rank) or 0.0),
        sentence=sentence,
        evidence=_evidence(judged),
    )


def _sentence(judged: Judged, limits: Limits) -> str | None:
    """The most pressing of what was measured; ``None``: memory is not short."""
    return _failure(judged, limits) or (_shortage(judged, limits) if judged.bound == "data" else None)


def _failure(judged: Judged, limits: Limits) -> str | None:
    """One that came, or will come."""
    rank, host = judged.rank, judged.facts.host
    near, soon = _nearly_full(judged, limits), first_to_fill(rank, host)
    if died_workers(rank) and (near is not None or is_short_now(judged, limits)):
        return f"A worker was killed while {NAMES[near.store] if near else 'memory'} was short."
    if soon is not None and (soon.hours_left or 0.0) <= limits.forecast_hours:
        return _forecast(judged, soon)
    if near is not None and near.store == "shm":
        return "/dev/shm is nearly full: a larger batch or a longer queue ends the run with a bus error."
    return None


def _shortage(judged: Judged, limits: Limits) -> str | None:
    """One that loading waits for."""
    near = _nearly_full(judged, limits)
    if is_short_now(judged, limits):
        return "Memory is short: the host swaps, and loading waits for pages."
    if near is not None and near.store == "limit":
        return "The memory limit is nearly reached: the kernel kills a process of the group when it is."
    return None


def _nearly_full(judged: Judged, limits: Limits) -> Room | None:
    room = fullest(judged.rank, judged.facts.host)
    return room if room is not None and room.is_near_full(limits) else None


def is_short_now(judged: Judged, limits: Limits) -> bool:
    """Tasks wait for memory, or swap in use grows. Swap that was filled long ago and rests does not slow anything."""
    stall = memory_stall(judged.rank)
    if stall is not None and stall >= limits.memory_stall_fraction:
        return True
    return swap_growth_per_hour(judged.rank) is not None


def _forecast(judged: Judged, room: Room) -> str:
    workers, hours = workers_growth_per_hour(judged.rank), room.hours_left or 0.0
    when = f"{hours * 60:.0f} minutes" if hours < 2 else f"{hours:.0f} hours"
    if workers and room.bytes_per_hour and workers >= 0.5 * room.bytes_per_hour and room.store != "shm":
        return f"The workers' memory grows by {workers / 1e9:.2g} GB an hour: in {when} {NAMES[room.store]} is used up."
    return f"In {when} {NAMES[room.store]} is used up, at {(room.bytes_per_hour or 0.0) / 1e9:.2g} GB an hour."


def _evidence(judged: Judged) -> list[Evidence]:
    rank, host = judged.rank, judged.facts.host
    soon = first_to_fill(rank, host)
    left = [
        Evidence(what=f"Left of {NAMES[room.store]}, of {room.total_bytes / 1e9:.3g} GB",
                 value=room.least_left_bytes, unit="bytes", series=_series(room))
        for room in rooms(rank, host)
    ]  # fmt: skip
    hours = soon.hours_left if soon else None
    return [
        Evidence(what="Used up in", value=None if hours is None else hours * US_PER_HOUR, unit="us"),
        Evidence(what="Growth of all workers in an hour", value=workers_growth_per_hour(rank), unit="bytes"),
        *left,
        Evidence(what="Time in which tasks waited for memory", value=memory_stall(rank), unit="fraction"),
        Evidence(what="Growth of swap in use in an hour", value=swap_growth_per_hour(rank), unit="bytes"),
        Evidence(what="Workers that were gone without a word", value=died_workers(rank), unit="count"),
    ]


def _series(room: Room) -> str:
    return {"memory": "memory_available_bytes", "limit": "memory_used_bytes", "shm": "shm_free_bytes"}[room.store]
