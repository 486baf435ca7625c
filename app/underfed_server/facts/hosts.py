"""Samples of the hosts and devices of a run, over the span of the judged steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from underfed_server.facts.record import Mask, RankFacts
from underfed_server.measurements import Column, GpuRows, HostRows, ProcessRows
from underfed_server.store.columns.lanes import HOST, PROCESS, gpu_lane
from underfed_server.store.reading.rows import read_rows
from underfed_server.store.reading.samplers import Samplers
from underfed_server.store.reading.tracks import Reader

Samples = TypeVar("Samples", ProcessRows, HostRows)

FEW_SAMPLES = 600
"""Ten minutes: as long as most spans of judged steps."""


@dataclass(frozen=True, slots=True)
class Span:
    """From the request of the first judged step to the end of the last, on the run's clock."""

    start_us: float
    end_us: float

    def holds(self, at_us: Column) -> Mask:
        return (at_us >= self.start_us) & (at_us <= self.end_us)


def span_of(rank: RankFacts) -> Span | None:
    """Of the judged steps; ``None``: there is none."""
    steps = rank.steps
    if not len(steps):
        return None
    return Span(float(steps.start_us[0]), float(steps.start_us[-1] + steps.step_us[-1]))


@dataclass(frozen=True, slots=True)
class Hosts:
    """Samples of the hosts and training processes of a run, read once however many ranks ask for them."""

    reader: Reader
    run_id: str
    samplers: Samplers
    known: dict[tuple[int, int], HostRows] = field(default_factory=dict)
    processes: dict[tuple[int, int], ProcessRows] = field(default_factory=dict)

    def newest(self, rank: int, last: int) -> HostRows:
        """The newest samples of the host of ``rank``."""
        key = self.samplers.host_rank(rank), last
        if key not in self.known:
            rank, last = key
            self.known[key] = read_rows(HostRows, self.reader, self.run_id, rank, HOST, last)
        return self.known[key]

    def gpu(self, rank: int, gpu_index: int, last: int) -> GpuRows:
        """Those of a device as ``rank`` sampled it."""
        return read_rows(GpuRows, self.reader, self.run_id, rank, gpu_lane(gpu_index), last)

    def process(self, rank: int, last: int) -> ProcessRows:
        if (rank, last) not in self.processes:
            self.processes[rank, last] = read_rows(ProcessRows, self.reader, self.run_id, rank, PROCESS, last)
        return self.processes[rank, last]


def gpu_util(hosts: Hosts, rank: int, span: Span | None) -> float | None:
    """GPU-Util of the device that the rank computes on."""
    if span is None:
        return None
    for place in hosts.samplers.gpus(rank)[:1]:
        rows = hosts.gpu(*place, last=FEW_SAMPLES)
        return mean_inside(rows.at_us, rows.util_fraction, span)
    return None


def uses_gpu(hosts: Hosts, rank: int) -> bool:
    """The driver lists the training process on a device; where it lists none, a device that works is taken as ours."""
    sampled = (hosts.gpu(*place, last=60) for place in hosts.samplers.gpus(rank))
    return any(_is_ours(rows.own_process, rows.util_fraction) for rows in sampled)


def _is_ours(own_process: Column, util_fraction: Column) -> bool:
    known = own_process[np.isfinite(own_process)]
    return bool(np.any(known > 0)) if len(known) else bool(np.nansum(util_fraction) > 0)


def newest_since(start_us: float, read: Callable[[int], Samples]) -> Samples:
    """All samples from ``start_us`` on, and some before: a run of days has many more, and is judged once a second."""
    last = FEW_SAMPLES
    while len(rows := read(last)) == last and rows.at_us[0] >= start_us:
        last *= 4
    return rows


def mean_inside(at_us: Column, values: Column, span: Span) -> float | None:
    inside = values[span.holds(at_us) & np.isfinite(values)]
    return float(np.mean(inside)) if len(inside) else None
