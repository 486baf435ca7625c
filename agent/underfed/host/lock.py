"""One process at a time in a directory: a lock that the kernel frees when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from underfed.errors import SpoolLockedError
from underfed.host.signal_handlers import let_through

LOCK = "lock"
"""The file that is locked, in its directory."""

POLL_S = 0.05


@contextmanager
def held(directory: Path) -> Iterator[bool]:
    """Hold the lock within the block, unless another process does; the block gets whether it is held."""
    file = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            let_through(error)
            yield False
        else:
            yield True
    finally:
        os.close(file)


@contextmanager
def locked(directory: Path, patience_s: float = 0.0) -> Iterator[None]:
    """Hold the lock within the block. Creates the directory.

    Raises:
        SpoolLockedError: another process has it, also after ``patience_s``.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    deadline = time.monotonic() + patience_s
    while True:
        with held(directory) as is_ours:
            if is_ours:
                yield
                return
        if time.monotonic() >= deadline:
            raise SpoolLockedError(f"{directory} is in use by another process")
        time.sleep(POLL_S)


def is_held(directory: Path) -> bool:
    """Whether some process holds it now: none does in a directory that is gone, as the last holder may leave it."""
    try:
        with held(directory) as is_ours:
            return not is_ours
    except FileNotFoundError:
        return False
