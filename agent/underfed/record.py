"""What the rings hold: eight 64-bit integers a record, the first saying which kind, the last being its number.

A record's head is ``kind | epoch << 8``; in a worker's ring the epoch counts the passes of its own iterator,
in a step ring the epochs of the loader. Instants are nanoseconds of ``clock``. ``NOT_MEASURED`` stands for
what could not be read, since ``0`` is a measurement.
"""

from __future__ import annotations

NOT_MEASURED = -1

EPOCH = 1
"""iterator, its pass, start_ns, constructed_ns (NOT_MEASURED: it was kept), first step index, –"""
STEP = 2
"""entered_ns, left_ns, queue depth, batch index, step index, received_ns (before entered_ns: it came early)"""
EXHAUSTED = 3
"""entered_ns, left_ns, –, –, –, – : the request that found no more batches"""
FAILED = 4
"""entered_ns, left_ns, –, –, –, – : the request that raised"""
ARRIVAL = 5
"""batch index, received_ns, –, –, –, – : a batch that came while an earlier one was waited for"""
BATCH = 6
"""batch index, start_ns, end_ns, thread CPU ns, run-queue ns, collate ns"""
BATCH_DETAIL = 7
"""batch index, process CPU ns, asked bytes, read bytes, samples, then in a worker: process CPU ns since its start,
in the training process: our own ns. Follows its BATCH directly."""
OVERHEAD = 8
"""our own ns on the training thread in one step, –, –, –, –, –"""
BATCH_SHAPE = 9
"""tensors, bytes, –, –, –, – : of a first batch"""

KIND_MASK = 0xFF
EPOCH_SHIFT = 8

Record = tuple[int, int, int, int, int, int, int, int]


def head(kind: int, epoch: int) -> int:
    return kind | epoch << EPOCH_SHIFT
