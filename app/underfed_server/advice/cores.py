"""CPU time that a step of this run takes, wherever it is spent."""

from __future__ import annotations

from underfed_server.advice.case import Case
from underfed_server.diagnosis import measures


def cpu_us(case: Case) -> float | None:
    """To load a batch and to train on it, in all processes of a rank; ``None``: loading was not measured."""
    rank = case.rank
    load = measures.mean(rank.batches.cpu_us)
    if load is None:
        return None
    # Without workers, loading is among what the training process computes.
    training = (rank.process.process_cores or 0.0) * rank.step_us - (0.0 if case.num_workers else load)
    return load + max(0.0, training)
