"""Memory, its limit or /dev/shm is short, or will be: a failure is reported before it happens.

A forecast failure, a killed worker and a full /dev/shm are reported of every run, whatever they cost now; the rest only
of a run that waits for data.
"""

from __future__ import annotations

from underfed_server.diagnosis.cause import Cause, Found, Shared
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.memory import (
    NEAR_FULL_FRACTION,
    Room,
    died_workers,
    first_to_fill,
    fullest,
    memory_stall,
    rooms,
    swap_growth_per_hour,
    workers_growth_per_hour,
)
from underfed_server.diagnosis.signals import Reading, signal
from underfed_server.model import Evidence, Signal

NAMES = {"memory": "memory", "limit": "the memory limit", "shm": "/dev/shm"}
SERIES = {"memory": "memory_available_bytes", "limit": "memory_used_bytes", "shm": "shm_free_bytes"}
US_PER_HOUR = 3.6e9

FORECAST_HOURS = 24.0
"""A shortage is reported a day ahead: before the night in which it comes."""

STALL_FRACTION = 0.05
"""Share of time in which some task waited for memory (PSI) from which memory is short now; where there is enough it
is 0."""


def find(examined: Examination) -> Found | None:
    """By the most pressing of what was measured."""
    sentence = _failure(examined) or (_shortage(examined) if examined.bound == "data" else None)
    if sentence is None:
        return None
    return Found(min(examined.unexplained, memory_stall(examined.rank) or 0.0), sentence, _evidence(examined))


def _failure(examined: Examination) -> str | None:
    """One that came, or will come."""
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
    """One that loading waits for."""
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
    """Tasks wait for memory, or swap in use grows. Swap that was filled long ago and rests does not slow anything."""
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


def signals(examined: Examination, is_found: bool) -> list[Signal]:
    room = fullest(examined.rank, examined.facts.host)
    left = None if room is None else room.least_left_bytes / room.total_bytes
    reading: Reading = "not_measured" if left is None else "symptom" if left < NEAR_FULL_FRACTION else "ruled_out"
    measured = Evidence(what="of it", value=left, unit="fraction")
    healthy = f"over {NEAR_FULL_FRACTION * 100:.0f}%"
    name = "Memory and /dev/shm left, the fuller one"
    return [signal(name, measured, healthy, "cause" if is_found else reading, "memory short")]


CAUSE = Cause(
    label="memory short",
    about="Memory, its limit or /dev/shm is nearly used up, or will be within a day at the growth that was measured.",
    find=find,
    cured_by=("num_workers", "prefetch_factor", "shm_size"),
    signals=signals,
    turn="first",
    is_of_loading=True,
    at_any_bound=True,
    shared=Shared("memory", "run short of memory on"),
)
