"""What the rings hold: eight 64-bit integers a record, the first saying which kind, the last being its number.

A record's head is ``kind | epoch << 8``; in a worker's ring the epoch counts the passes of its own iterator,
in a step ring the epochs of the loader. Instants are nanoseconds of ``clock``. ``NOT_MEASURED`` stands for
what could not be read, since ``0`` is a measurement.
"""

from __future__ import annotations

from collections.abc import Mapping

NOT_MEASURED = -1


def known(value: int) -> int | None:
    return None if value == NOT_MEASURED else value


EPOCH = 1
"""iterator, its pass, start_ns, constructed_ns (NOT_MEASURED: a persistent iterator), first step index,
``pack_pass(…)``"""
STEP = 2
"""entered_ns, left_ns, ``pack_request(…)``, batch index, step index, received_ns (before entered_ns: it was ready)"""
EXHAUSTED = 3
"""entered_ns, left_ns, –, –, –, – : the request that found no more batches"""
FAILED = 4
"""entered_ns, left_ns, –, –, –, – : the request that raised"""
ARRIVAL = 5
"""batch index, received_ns, –, –, –, – : a batch that came while an earlier one was waited for"""
BATCH = 6
"""batch index, start_ns, end_ns, thread CPU ns, run-queue ns, collate ns"""
BATCH_DETAIL = 7
"""batch index, process CPU ns, asked bytes, read bytes, samples, process CPU ns since its start. Follows its BATCH
directly."""
OVERHEAD = 8
"""our own ns on the training thread in one step, as in any other; ns more for a close look at it; 1: its batch was
measured, 0: not, –, –, –"""
BATCH_SHAPE = 9
"""tensors, bytes, 1: its largest floating-point tensor would fit into eight bits, 0: it would not, –, –, – : of a first
batch"""
PIN = 10
"""batch index, start_ns, end_ns, –, –, – : copied into page-locked memory. Comes before the batch's arrival."""
DEVICE = 11
"""step index, then the columns of ``LATER_COLUMNS``: of a step that was announced as timed"""
COPY = 12
"""step index, then the columns of ``LATER_COLUMNS``: of the batch that this step was given"""
WORKER_START = 13
"""start_ns, –, –, –, –, – : first in a worker's ring"""
WORKER_END = 14
"""end_ns, 0: its loop returned, 1: it raised, –, –, –, –"""
FINGERPRINT = 15
"""a number, –, –, –, –, – : of what a batch holds. Of the first batches of a worker that is not the only one of its
iterable data set"""

GRAPH = 16
"""0: between the batches of this pass no autograd graph was built so far, 1: one was, then 1: they are requested in the
background, by a thread that builds none while another one may, –, –, –, –"""

BATCH_DTYPE = 17
"""place in ``DTYPES``, bytes, –, –, –, – : of the tensors of that type in a first batch"""

RECEIVED = 18
"""bytes that the worker's own TCP connections received since it started, connections open now, –, –, –, –"""

CONTINUES = 19
"""–, –, –, –, –, – : this pass goes on with the one before it, under other settings. Follows its EPOCH directly."""

SHORT_BATCH = 20
"""batch index, start_ns, end_ns, thread CPU ns, samples, – : of a worker that measured no more of it"""

DTYPES = (
    "float32", "float64", "float16", "bfloat16", "uint8", "int8", "int16", "int32", "int64", "bool", "complex64",
    "complex128", "other",
)  # fmt: skip

LATER_COLUMNS: Mapping[int, tuple[str, ...]] = {
    DEVICE: ("gpu_idle_us", "gpu_work_us"),
    COPY: ("h2d_us", "h2d_exposed_us"),
}
"""Per-step columns that are known only after their step, by the kind of record that carries them: its fields after the
step index, in this order. What ends in ``_us`` is recorded in nanoseconds, all else in the unit of its name; the
collector turns each into the column of this name in ``wire.Steps``. A new column is a name here, a field in
``wire.Steps``, and the value where its record is written."""

KIND_MASK = 0xFF
EPOCH_SHIFT = 8

DEPTH_BITS = 16
DEEPEST = (1 << DEPTH_BITS) - 2
"""A longer queue is recorded as this many batches: 65,534."""

TIMED, SAMPLER_SHIFT = 1 << DEPTH_BITS, DEPTH_BITS + 1

Record = tuple[int, int, int, int, int, int, int, int]


def head(kind: int, epoch: int) -> int:
    return kind | epoch << EPOCH_SHIFT


def pack_request(depth: int, is_timed: bool, sampler_ns: int) -> int:
    """Queue depth at a request, whether a DEVICE record of the step will follow, and sampler time.

    ``NOT_MEASURED`` may stand for the first and the last. ``hooks.requests`` packs the same by hand.
    """
    return sampler_ns << SAMPLER_SHIFT | is_timed << DEPTH_BITS | min(depth, DEEPEST) + 1


REQUESTS_BITS = 14
MOST_REQUESTS = (1 << REQUESTS_BITS) - 1
"""One rank asks for each of so many in a step."""


def pack_pass(sampler_ns: int, grad_enabled: bool, fetches_ahead: bool, requests_a_step: int) -> int:
    """Sampler time during construction or reset (it may be ``NOT_MEASURED``), whether gradients are enabled, whether
    its consumer asks for the batch after the one it hands out, and how many it asks for in each step."""
    return (sampler_ns << REQUESTS_BITS | requests_a_step - 1) << 2 | grad_enabled << 1 | fetches_ahead


def unpack_pass(packed: int) -> tuple[int, bool, bool, int]:
    """The arguments of ``pack_pass``."""
    requests_a_step = (packed >> 2 & MOST_REQUESTS) + 1
    return packed >> 2 + REQUESTS_BITS, bool(packed & 2), bool(packed & 1), requests_a_step


def unpack_request(packed: int) -> tuple[int, bool, int]:
    """The arguments of ``pack_request``."""
    depth = (packed & ((1 << DEPTH_BITS) - 1)) - 1
    return depth, bool(packed & TIMED), packed >> SAMPLER_SHIFT
