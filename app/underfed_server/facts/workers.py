"""The processes behind worker numbers, over the judged span."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from underfed_server.facts.columns import newest
from underfed_server.facts.growth import growth_per_hour, is_growing
from underfed_server.facts.record import Column, WorkerFacts
from underfed_server.measurements import WorkerRows
from underfed_server.store.reading.workers import WorkerRecord


def worker_facts(records: Sequence[WorkerRecord], span_us: tuple[float, float] | None) -> tuple[WorkerFacts, ...]:
    """``span_us``: start and end of the judged steps, on the run's clock; ``None``: no step is judged."""
    return tuple(_of(record, span_us) for record in records)


def _of(record: WorkerRecord, span_us: tuple[float, float] | None) -> WorkerFacts:
    samples = record.newest_samples
    memory = _own_memory(samples)
    return WorkerFacts(
        worker=record.worker,
        threads=newest(samples.threads),
        cores=None if span_us is None else _cores(record.samples, span_us),
        rss_bytes=newest(samples.rss_bytes),
        pss_bytes=newest(samples.pss_bytes),
        bytes_per_hour=growth_per_hour(samples.at_us, memory),
        is_growing=is_growing(samples.at_us, memory),
        died=record.ended.get("died", 0),
    )


def _own_memory(samples: WorkerRows) -> Column:
    """A worker that writes to memory it shared grows in its own share first; that is sampled of few workers."""
    return samples.pss_bytes if np.count_nonzero(np.isfinite(samples.pss_bytes)) >= 2 else samples.rss_bytes


def _cores(samples: WorkerRows, span_us: tuple[float, float]) -> float | None:
    """CPU time is cumulative for a process: a smaller one than before is of a new process, which is no growth."""
    inside = (samples.at_us >= span_us[0]) & (samples.at_us <= span_us[1]) & np.isfinite(samples.cpu_us)
    at_us, cpu_us = samples.at_us[inside], samples.cpu_us[inside]
    grown = np.diff(cpu_us)
    passed = float(np.sum(np.diff(at_us)[grown >= 0]))
    return float(np.sum(grown[grown >= 0])) / passed if passed > 0 else None
