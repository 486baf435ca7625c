"""What a change beside the number of workers does to loading and handing over, from what the run shows of both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from underfed_server.advice.prediction.handover import PAUSE_US
from underfed_server.advice.prediction.simulate import Batch, HandoverTimes, SimulatedSetting
from underfed_server.advice.prediction.workload import PredictionError, Workload
from underfed_server.facts.record import RankFacts

RECEIVE_US, HANDSHAKE_US, BY_NAME_US = 120.0, 185.0, 75.0
"""CPU that the training process spends on a batch, and on each of its tensors: by a handshake, and by its name. Own
study (torch 2.13, two cores of an EPYC): 1 to 24 tensors in 0.28 to 4.0 and in 0.16 to 1.6 ms, and in 0.5 to 4.5 and
0.4 to 1.7 where 4 ms lie between two batches."""

BY_NAME_WAIT_US, BY_NAME_TENSOR_WAIT_US = 100.0, 60.0
"""Its waits for torch's process that remembers the names, which it asks for each tensor (likewise: 0.3 ms for 1
tensor, 1.4 for 24)."""

NAMED_US = 70.0
"""In a worker, for each tensor that is to be opened by name: 30 in the thread that hands over, while the one that loads
waits for the interpreter, and 40 in torch's process that remembers the names, which both wait for."""

FEW = 8
"""Fewest batches without reads from storage that show what else loading waits for."""


def changed(workload: Workload, rank: RankFacts, setting: SimulatedSetting) -> Workload:
    """The same run with faster reads or another sharing strategy, where ``setting`` has them.

    Raises:
        PredictionError: what the change takes away was not measured.
    """
    if setting.is_in_memory:
        workload = _mapped(workload, _without_storage(rank))
    if setting.shares_by_name:
        workload = replace(workload, handover=_by_name(workload.handover, workload.batch_tensors))
    return workload


def _mapped(workload: Workload, blocked_share: float) -> Workload:
    def one(batch: Batch) -> Batch:
        return replace(batch, blocked_us=batch.blocked_us * blocked_share)

    return replace(workload, batches=tuple(map(one, workload.batches)), alone=tuple(map(one, workload.alone)))


def _without_storage(rank: RankFacts) -> float:
    """Share of the blocked time that is left when no read waits: that of batches which reached no storage.

    Where every batch reached storage, all blocked time counts as storage's.
    """
    batches = rank.batches
    known = np.isfinite(batches.read_bytes) & np.isfinite(batches.blocked_us)
    if not known.any():
        raise PredictionError("how many bytes reach storage was not measured")
    read, blocked = batches.read_bytes[known], batches.blocked_us[known]
    typical = float(np.mean(blocked))
    if not read.any() or typical <= 0:
        raise PredictionError("no read of this run waited for storage")
    cached = blocked[read < 0.1 * np.mean(read)]
    return min(1.0, float(np.median(cached)) / typical) if len(cached) >= FEW else 0.0


def _by_name(handover: HandoverTimes, tensors: int) -> HandoverTimes:
    """Pauses between loads are as usual: handshakes prolong them, which another thread of the worker answers."""
    share = (RECEIVE_US + tensors * BY_NAME_US) / (RECEIVE_US + tensors * HANDSHAKE_US)
    named_us, wait_us = tensors * NAMED_US, BY_NAME_WAIT_US + tensors * BY_NAME_TENSOR_WAIT_US
    return replace(
        handover,
        feed_us=handover.feed_us + named_us,
        receive_us=handover.receive_us * share,
        receive_wait_us=min(handover.receive_wait_us, wait_us),
        busy_wait_us=min(handover.busy_wait_us, wait_us),
        pause_us=min(handover.pause_us, PAUSE_US) + named_us,
    )
