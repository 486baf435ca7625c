"""Whether this host has room for a setting beside the one in use: memory, shared memory, open files."""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence
from dataclasses import dataclass

from underfed.host import cgroup, procfs
from underfed.host.memory import SHARED_MEMORY, read_memory, shared_memory
from underfed.trainer.tuning.loader_setting import LoaderSetting

WORKER_BYTES = 256 << 20
"""Of a worker of which none is seen yet: a process that imported torch. One that was forked shares most of it."""

LEFT_FRACTION = 0.1
"""Of the memory stays free: the training may need more than it has now."""

FILES_OF_WORKER, SPARE_FILES = 8, 64
"""Pipes and semaphores of one; and what the program may yet open."""

LEAST_FILE_BYTES = 4096
"""That a process has to be allowed to write: the semaphores of workers are files."""

SELDOM = 1_000
"""Requests between two counts, at most."""


@dataclass(frozen=True, slots=True)
class Room:
    """``None``: not known, so it does not limit."""

    memory_bytes: int | None = None
    memory_total_bytes: int | None = None
    shared_bytes: int | None = None
    files: int | None = None
    worker_bytes: int = WORKER_BYTES
    file_bytes: int | None = None
    """Of one file."""


@dataclass(frozen=True, slots=True)
class BatchSize:
    tensors: int = 1
    size_bytes: int = 0


def why_no_room(setting: LoaderSetting, batch: BatchSize, room: Room) -> str | None:
    """``None``: there is room."""
    if not setting.num_workers:
        return None
    ahead_bytes = setting.capacity * batch.size_bytes
    needed = setting.num_workers * room.worker_bytes + ahead_bytes
    if room.memory_bytes is not None and room.memory_total_bytes is not None:
        free = room.memory_bytes - int(LEFT_FRACTION * room.memory_total_bytes)
        if needed > free:
            return f"it may need {needed >> 20} MB of memory, and {max(0, free) >> 20} MB are free for it"
    if room.shared_bytes is not None and ahead_bytes > room.shared_bytes:
        return f"its batches need {ahead_bytes >> 20} MB of {SHARED_MEMORY}, and {room.shared_bytes >> 20} MB are free"
    if room.file_bytes is not None and max(LEAST_FILE_BYTES, batch.size_bytes) > room.file_bytes:
        return (
            f"files that this process writes may have {room.file_bytes:,} bytes (ulimit -f); workers need "
            f"semaphores and send their batches of {batch.size_bytes:,} bytes by such files"
        )
    files = setting.num_workers * FILES_OF_WORKER + setting.capacity * batch.tensors + SPARE_FILES
    if room.files is not None and files > room.files:
        return f"it may open {files} files more, and {room.files} are left to this process"
    return None


def read_room(workers: Sequence[int]) -> Room:
    """``workers``: pids of some that load the same."""
    memory = read_memory()
    total, available = memory.total_bytes, memory.available_bytes
    group = cgroup.limiting_memory_group()
    limit, used = cgroup.memory_limit_bytes(), cgroup.memory_used_bytes(group)
    if limit is not None and used is not None:
        available = limit - used if available is None else min(available, limit - used)
        total = limit if total is None else min(total, limit)
    own = [size for pid in workers if (size := procfs.anonymous_bytes(pid)) is not None]
    most_bytes = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    file_bytes = None if most_bytes == resource.RLIM_INFINITY else most_bytes
    return Room(available, total, shared_memory()[1], left_files(), max(own) if own else WORKER_BYTES, file_bytes)


def left_files() -> int | None:
    """That this process may yet open; ``None``: not known, or as many as it likes."""
    most, opened = resource.getrlimit(resource.RLIMIT_NOFILE)[0], procfs.open_files(os.getpid())
    return None if opened is None or most == resource.RLIM_INFINITY else most - opened


class FilesWatch:
    """Each batch of a worker may hold files for as long as the program keeps it. They are counted again once half of
    those that are left can have been opened: the more there are, the more seldom."""

    def __init__(self) -> None:
        self._requests = 0
        """To come before the next count."""

    def are_few(self, setting: LoaderSetting, batch: BatchSize) -> bool:
        """At a request, under a setting that has workers. Few: what is loaded ahead may not find enough."""
        if self._requests > 0:
            self._requests -= 1
            return False
        left, tensors = left_files(), max(1, batch.tensors)
        if left is None:
            self._requests = SELDOM
            return False
        spare = left - SPARE_FILES // 2 - setting.capacity * tensors - setting.num_workers * FILES_OF_WORKER
        self._requests = min(SELDOM, spare // (2 * tensors))
        return spare <= 0
