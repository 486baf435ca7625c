"""What handing a batch from a worker to the training loop takes: as seen in the run, else as measured on its host.

With ``file_descriptor`` sharing each tensor costs a handshake with the worker that created it. A worker that is in the
middle of the next load has to be interrupted for each turn of the handshake, up to the interpreter's switch interval of
5 ms, so the same batch is received in 1.3 ms from an idle worker and in 5–15 ms from one that computes in Python.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from underfed_server.advice.prediction.simulate import HandoverTimes
from underfed_server.diagnosis.measures import mean
from underfed_server.diagnosis.wait import rows_of_steps
from underfed_server.facts.record import HostShare, Mask, RankFacts
from underfed_server.measurements import Column, or_zero
from underfed_server.model import HandoverCosts, LoaderInfo

FEED_US = 250.0
FEED_WAIT_US = 200.0
EARLY_US = 200.0
PAUSE_US = 300.0
"""Own study. Too few microseconds to be worth measuring on each host."""

UNCALIBRATED = HandoverCosts(
    receive_us=500.0,
    receive_wait_us=500.0,
    tensor_us=130.0,
    tensor_wait_us=110.0,
    write_tensor_us=50.0,
    write_mb_us=700.0,
    free_mb_us=150.0,
)
"""Own study: torch 2.13, file_descriptor sharing, two virtual cores of an EPYC."""

INTERRUPTED_US = 3_000.0
"""Added while the worker computes: between none (its libraries release the interpreter) and three turns of 5 ms."""

FEW = 8
"""Fewest requests of a kind whose median wait is used."""


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """CPU time that the shared memory of one batch costs, in microseconds."""

    write_us: float
    """In the worker: new pages are faulted in and filled."""
    free_us: float
    """In the training process: the pages are given back."""


def read_handover(rank: RankFacts, loader: LoaderInfo, host: HostShare) -> tuple[HandoverTimes, SharedMemory]:
    usual, shared = usual_handover(loader, host.handover or UNCALIBRATED)
    if not loader.num_workers:
        return usual, shared
    pin_us = mean(rank.batches.pin_us)
    if pin_us is not None:
        return _through_pin_thread(rank, usual, pin_us), shared
    idle, busy, early = _ready_waits(rank, usual)
    awaited = _awaited_us(rank)
    idle_us, busy_us = _mean_of(idle), _mean_of(busy)
    if idle_us is None and busy_us is None and awaited is not None:
        received = max(0.0, awaited - usual.feed_us - usual.feed_wait_us)
        idle_us, busy_us = (received, None) if (loader.prefetch_factor or 2) == 1 else (None, received)
    if busy_us is None:
        busy_us = (idle_us if idle_us is not None else usual.receive_us + usual.receive_wait_us) + interrupted_us(rank)
    if idle_us is None:
        idle_us = min(busy_us, usual.receive_us + usual.receive_wait_us)
    cpu_us = min(usual.receive_us, 0.6 * idle_us)
    return (
        HandoverTimes(
            feed_us=_feed_us(rank, usual),
            feed_wait_us=usual.feed_wait_us,
            receive_us=cpu_us,
            receive_wait_us=idle_us - cpu_us,
            busy_wait_us=max(busy_us, idle_us) - cpu_us,
            early_us=_mean_of(early) or usual.early_us,
            pause_us=_pause_us(rank, usual),
        ),
        shared,
    )


def _through_pin_thread(rank: RankFacts, usual: HandoverTimes, pin_us: float) -> HandoverTimes:
    """That thread receives, and the loop waits for a ready batch no longer than a queue between threads takes."""
    waits = rank.steps.data_wait_us - or_zero(rank.steps.sampler_us)
    ready = waits[rank.steps.queue_depth >= 1]
    taken_us = float(np.median(ready)) if len(ready) >= FEW else usual.early_us
    return replace(
        usual,
        feed_us=_feed_us(rank, usual),
        early_us=min(taken_us, usual.early_us),
        pause_us=_pause_us(rank, usual),
        pin_us=pin_us,
    )


def usual_handover(loader: LoaderInfo, costs: HandoverCosts) -> tuple[HandoverTimes, SharedMemory]:
    """The hand-over of a batch of this loader's size, for a run in which no worker was seen."""
    tensors, megabytes = loader.batch_tensors or 2, (loader.batch_bytes or 0) / 1e6
    wait_us = costs.receive_wait_us + tensors * costs.tensor_wait_us
    handover = HandoverTimes(
        feed_us=FEED_US + tensors * costs.tensor_us / 2,
        feed_wait_us=FEED_WAIT_US,
        receive_us=costs.receive_us + tensors * costs.tensor_us,
        receive_wait_us=wait_us,
        busy_wait_us=wait_us + INTERRUPTED_US,
        early_us=EARLY_US,
        pause_us=PAUSE_US,
    )
    written_us = costs.write_mb_us * megabytes + costs.write_tensor_us * tensors
    return handover, SharedMemory(written_us, costs.free_mb_us * megabytes)


def interrupted_us(rank: RankFacts) -> float:
    """How much longer receiving takes on average while the worker computes the next load."""
    load, cpu = float(np.nansum(rank.batches.load_us)), float(np.nansum(rank.batches.cpu_us))
    return INTERRUPTED_US * (min(1.0, cpu / load) if load > 0 else 1.0)


def _ready_waits(rank: RankFacts, usual: HandoverTimes) -> tuple[Column, Column, Column]:
    """Waits for a ready batch: of an idle worker, of one that loads its next, and for those received early.

    Ready is what was loaded when it was asked for: batches also lie in the queue behind one that is still loading. Of a
    wait in which others were received as well, each has its part.
    """
    steps = rank.steps
    waits = np.maximum(0.0, steps.data_wait_us - or_zero(steps.sampler_us))
    ready = ~(steps.queue_depth < 1) & (_loaded_us(rank) <= steps.start_us)
    early = ready & (waits < 0.5 * (usual.receive_us + usual.receive_wait_us))
    busy = _owner_loads(rank)
    each = waits / np.maximum(1, _received(rank))
    return each[ready & ~early & ~busy], each[ready & ~early & busy], waits[early]


def _loaded_us(rank: RankFacts) -> Column:
    """When the batch of each step was loaded; NaN: it is not recorded."""
    if not len(rank.batches):
        return np.full(len(rank.steps), np.nan)
    row = rows_of_steps(rank)
    loaded: Column = np.where(row >= 0, (rank.batches.start_us + rank.batches.load_us)[row], np.nan)
    return loaded


def _received(rank: RankFacts) -> NDArray[np.intp]:
    """How many batches came to the training process within the wait of each step."""
    begun, at = rank.steps.start_us, np.sort(rank.batches.received_us)
    until = begun + rank.steps.data_wait_us
    return np.searchsorted(at, until, side="right") - np.searchsorted(at, begun, side="right")


def _owner_loads(rank: RankFacts) -> Mask:
    """Whether the worker that loaded the batch of each step was loading another one when the step asked for it."""
    row, asked_us = rows_of_steps(rank), rank.steps.start_us
    loading = np.zeros(len(row), dtype=bool)
    for worker in np.unique(rank.batches.worker):
        own = np.flatnonzero((row >= 0) & (rank.batches.worker[row] == worker))
        starts, ends = _spans(rank, worker)
        last = np.searchsorted(starts, asked_us[own], side="right") - 1
        loading[own] = (last >= 0) & (ends[last] > asked_us[own])
    return loading


def _spans(rank: RankFacts, worker: int) -> tuple[Column, Column]:
    mine = rank.batches.worker == worker
    order = np.argsort(rank.batches.start_us[mine])
    starts = rank.batches.start_us[mine][order]
    return starts, starts + rank.batches.load_us[mine][order]


def _awaited_us(rank: RankFacts) -> float | None:
    """Median time from a worker finishing a batch that the loop waited for until the loop has it."""
    steps, ready = rank.steps, _loaded_us(rank)
    got = steps.start_us + steps.data_wait_us - or_zero(steps.sampler_us)
    late = (got - ready)[(steps.start_us < ready) & (ready <= got)]
    return float(np.median(late)) if len(late) >= FEW else None


def _mean_of(waits: Column) -> float | None:
    """Mean without the slowest twentieth, which other things delay."""
    if len(waits) < FEW:
        return None
    return float(np.mean(waits[waits <= np.quantile(waits, 0.95)]))


def _feed_us(rank: RankFacts, usual: HandoverTimes) -> float:
    """CPU time per batch of the worker's other threads, which hand over and answer handshakes."""
    beside = rank.batches.process_cpu_us - rank.batches.cpu_us
    beside = beside[np.isfinite(beside)]
    return max(0.0, float(np.median(beside))) if len(beside) >= FEW else usual.feed_us


def _pause_us(rank: RankFacts, usual: HandoverTimes) -> float:
    """Between two loads of a worker that had the next index already: the shortest quarter of the pauses."""
    pauses = []
    for worker in np.unique(rank.batches.worker):
        starts, ends = _spans(rank, worker)
        pauses.append(starts[1:] - ends[:-1])
    together = np.concatenate(pauses) if pauses else np.empty(0)
    together = together[together >= 0]
    if len(together) < FEW:
        return usual.pause_us
    return min(float(np.quantile(together, 0.1)), 3 * usual.pause_us)
