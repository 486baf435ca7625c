"""The first and last values of a window's samples, by which is said what is used now: some twenty numbers, where the
samples are dozens of lists, which would have to be decoded again for each look at the hosts of a team.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from underfed_server.ingest.wire import GpuSamples, HostSamples, ProcessSamples
from underfed_server.measurements import RATES

HELD = ("busy_cores", "memory_used_bytes", "memory_available_bytes", "shm_free_bytes")
"""Columns of a host's samples whose newest value counts."""


class Ends(NamedTuple):
    """Of a counter: its first and its last known value, and when it had them."""

    first_us: float
    first: float
    last_us: float
    last: float


class GpuNow(Struct, frozen=True, gc=False):
    util_fraction: float | None
    memory_used_bytes: int | None
    own_process: bool | None
    """Whether a process of the run that sampled it computes on it."""


_now_of = attrgetter(*GpuNow.__struct_fields__)
_totals_of = attrgetter(*RATES.values())
_held_of = attrgetter(*HELD)


class SampleEnds(Struct, frozen=True, gc=False):
    process_samples: int | None
    """How many of its own processes there are; ``None``: it did not sample them."""
    host_samples: int | None
    """Likewise of the host."""
    own_cpu_us: Ends | None
    """CPU time of the training process and its workers together."""
    totals: Sequence[Ends | None]
    """In the order of :data:`RATES`."""
    held: Sequence[Any]
    """The newest known value of each of :data:`HELD`."""
    gpus: Mapping[int, GpuNow]
    """The newest known values of each."""


class WithSamples(Protocol):
    """A window, or what of it is decoded again."""

    @property
    def process(self) -> ProcessSamples | None: ...
    @property
    def host(self) -> HostSamples | None: ...
    @property
    def gpus(self) -> Sequence[GpuSamples]: ...


NO_HOST = (None,) * len(RATES), (None,) * len(HELD)


def sample_ends(window: WithSamples) -> SampleEnds:
    process, host = window.process, window.host
    totals, held = NO_HOST if host is None else _of_host(host)
    return SampleEnds(
        None if process is None else len(process.at_us),
        None if host is None else len(host.at_us),
        None if process is None else _own_cpu(process),
        totals,
        held,
        {} if not window.gpus else newest_gpus(_of_gpu(each) for each in window.gpus),
    )


def joined(parts: Iterable[Ends | None]) -> Ends | None:
    """Of a counter in several windows, oldest first."""
    known = [each for each in parts if each is not None]
    return Ends(*known[0][:2], *known[-1][2:]) if known else None


def newest_gpus(samples: Iterable[tuple[int, GpuNow]]) -> dict[int, GpuNow]:
    """Of each GPU, whose samples come oldest first."""
    found: dict[int, GpuNow] = {}
    for index, now in samples:
        before = found.get(index)
        found[index] = now if before is None else GpuNow(*map(_later, _now_of(before), _now_of(now)))
    return found


def _of_host(host: HostSamples) -> tuple[Sequence[Ends | None], Sequence[Any]]:
    at_us = host.at_us
    return [_ends(at_us, column) for column in _totals_of(host)], list(map(newest, _held_of(host)))


def _of_gpu(samples: GpuSamples) -> tuple[int, GpuNow]:
    return samples.gpu_index, GpuNow(*map(newest, _now_of(samples)))


def newest(column: Sequence[Any] | None) -> Any:
    """The last value that was measured."""
    if not column:
        return None
    last = column[-1]
    return last if last is not None else next((value for value in reversed(column) if value is not None), None)


def _own_cpu(process: ProcessSamples) -> Ends | None:
    own, workers = process.process_cpu_us, process.workers_cpu_us
    if not own or not workers:
        return None
    both = [None if one is None or other is None else one + other for one, other in zip(own, workers, strict=True)]
    return _ends(process.at_us, both)


def _ends(at_us: Sequence[float], column: Sequence[float | None] | None) -> Ends | None:
    if not column:
        return None
    if column[0] is not None and column[-1] is not None:
        return Ends(at_us[0], column[0], at_us[-1], column[-1])
    known = [(at, value) for at, value in zip(at_us, column, strict=True) if value is not None]
    return Ends(*known[0], *known[-1]) if known else None


def _later(before: Any, now: Any) -> Any:
    return before if now is None else now
