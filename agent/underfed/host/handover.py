"""What it takes on this host to hand a batch from a worker to the training process, measured without torch.

A worker hands a tensor over by a file descriptor: the receiver connects to a thread of the worker, both prove who they
are, and the descriptor is sent (``multiprocessing.resource_sharer``, which torch uses too). The bytes lie in shared
memory, whose pages are new for each batch.
"""

from __future__ import annotations

import mmap
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TENSORS = 9
TIMES = 12
"""Batches of one tensor and of nine, each so many times: about 0.1 s."""

READY_S = 0.002
"""After this long a batch is in the pipe."""

SHARED_BYTES = 4 << 20
SHARED_TIMES = 4
SHARED_PLACE = "/dev/shm"

TORCH_US = 350.0
TORCH_WAIT_US = 250.0
TORCH_TENSOR_US = 45.0
"""What torch's receiver adds for each batch (asking with a time limit, sending the next index) and each tensor (its
storage is looked up, mapped and wrapped): own study, torch 2.13."""


@dataclass(frozen=True, slots=True)
class Handover:
    """Microseconds. CPU and waiting are the receiver's, who finds the batch ready and the worker idle."""

    receive_us: float
    receive_wait_us: float
    tensor_us: float
    tensor_wait_us: float
    write_tensor_us: float
    write_mb_us: float
    free_mb_us: float


def measure_handover() -> Handover | None:
    """About 0.15 s; ``None`` where processes are not forked or there is no shared memory to write to."""
    if not hasattr(os, "fork") or not os.access(SHARED_PLACE, os.W_OK):
        return None
    receiving = _receiving()
    write_mb_us, free_mb_us = _shared_memory()
    return Handover(*receiving, _making_room_us(), write_mb_us, free_mb_us)


def _receiving() -> tuple[float, float, float, float]:
    """CPU and wait of a batch without its tensors, then of one tensor."""
    import multiprocessing

    context = multiprocessing.get_context("fork")
    requests, batches = context.SimpleQueue(), context.Queue()
    worker = context.Process(target=_hand_over, args=(requests, batches), daemon=True)
    worker.start()
    try:
        one, many = ([_receive(requests, batches, tensors) for _ in range(TIMES)] for tensors in (1, TENSORS))
        requests.put(0)
        worker.join(1.0)
    finally:
        worker.kill()
        batches.close()
    (one_wall, one_cpu), (many_wall, many_cpu) = (
        map(statistics.median, zip(*seen, strict=True)) for seen in (one, many)
    )
    cpu, wall = (max(0.0, (many - one) / (TENSORS - 1)) for many, one in ((many_cpu, one_cpu), (many_wall, one_wall)))
    base_cpu, base_wall = max(0.0, one_cpu - cpu), max(0.0, one_wall - wall)
    base_wait = max(0.0, base_wall - base_cpu)
    return base_cpu + TORCH_US, base_wait + TORCH_WAIT_US, cpu + TORCH_TENSOR_US, max(0.0, wall - cpu)


def _receive(requests: Any, batches: Any, tensors: int) -> tuple[float, float]:
    """Receive a batch. Returns wall and CPU microseconds."""
    requests.put(tensors)
    time.sleep(READY_S)
    wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
    for shared in batches.get():
        os.close(shared.detach())
    return (time.perf_counter_ns() - wall) / 1e3, (time.thread_time_ns() - cpu) / 1e3


def _hand_over(requests: Any, batches: Any) -> None:
    """Runs in the other process: sends a batch of as many descriptors as requested, until none is."""
    from multiprocessing.resource_sharer import DupFd

    file = os.open(os.devnull, os.O_RDONLY)
    while tensors := requests.get():
        batches.put([DupFd(file) for _ in range(tensors)])


def _shared_memory() -> tuple[float, float]:
    """CPU microseconds a megabyte: of filling new pages beyond filling old ones, and of giving the pages back."""
    content = bytes(SHARED_BYTES)
    old = bytearray(SHARED_BYTES)
    filled, freed, copied = [], [], []
    for _ in range(SHARED_TIMES):
        file = _new_file(SHARED_BYTES)
        with mmap.mmap(file, SHARED_BYTES) as memory:
            filled.append(_cpu_us(lambda memory=memory: memory.__setitem__(slice(None), content)))
            os.close(file)
            copied.append(_cpu_us(lambda: old.__setitem__(slice(None), content)))
            freed.append(_cpu_us(memory.close))
    megabytes = SHARED_BYTES / 1e6
    fill_us = max(0.0, statistics.median(filled) - statistics.median(copied))
    return fill_us / megabytes, statistics.median(freed) / megabytes


def _making_room_us() -> float:
    """CPU microseconds of a new small piece of shared memory."""

    def make_room() -> None:
        file = _new_file(mmap.PAGESIZE)
        with mmap.mmap(file, mmap.PAGESIZE) as memory:
            memory[0] = 1
        os.close(file)

    return statistics.median(_cpu_us(make_room) for _ in range(TIMES))


def _new_file(size: int) -> int:
    path = Path(SHARED_PLACE, f"underfed-{os.getpid()}")
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    path.unlink()
    os.ftruncate(file, size)
    return file


def _cpu_us(work: Any) -> float:
    started = time.thread_time_ns()
    work()
    return (time.thread_time_ns() - started) / 1e3
