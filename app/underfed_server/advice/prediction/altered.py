"""What a change beside the number of workers does to loading and handing over, from what the run shows of both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from underfed_server.advice.prediction.handover import UNCALIBRATED
from underfed_server.advice.prediction.simulate import Batch, HandoverTimes, SimulatedSetting
from underfed_server.advice.prediction.workload import PredictionError, Workload
from underfed_server.facts.record import RankFacts

BY_NAME_TENSOR_US = 70.0
"""Opening a tensor's file by its name instead of a handshake (own study: 24 tensors in 2.5 instead of 11.1 ms)."""

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
    receive_us = min(handover.receive_us, UNCALIBRATED.receive_us + tensors * BY_NAME_TENSOR_US)
    return replace(handover, receive_us=receive_us, receive_wait_us=0.0, busy_wait_us=0.0)
