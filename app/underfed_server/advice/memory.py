"""What more batches in flight may take of shared memory."""

from __future__ import annotations

from underfed_server.advice.case import Case

SHM_FRACTION = 0.5
"""Of the free /dev/shm that prefetched batches may fill: others use it too, and a full one kills the run."""


def most_batches_in_shm(case: Case) -> int | None:
    """Prefetched batches that fit; ``None``: the size of a batch or of /dev/shm is not known."""
    free, batch = case.facts.host.shm_free_bytes, case.loader.batch_bytes
    return None if free is None or not batch else int(free * SHM_FRACTION / batch)
