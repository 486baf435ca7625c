"""One process at a time in a directory: a lock that the kernel frees when its holder dies, however it dies.

Behind a network no file is locked: there the lock is a file of this host, and holds nobody on another one back.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from underfed.errors import SpoolLockedError
from underfed.host.mounts import is_remote
from underfed.host.signal_handlers import let_through, passing

LOCK = "lock"
"""The file that is locked, in its directory."""

PLACES = (Path("/dev/shm"), Path("/run/lock"), Path("/tmp"))
"""Local on every host: where locks lie of directories that are not."""

POLL_S = 0.05


@contextmanager
def held(directory: Path) -> Iterator[bool]:
    """Hold the lock within the block, unless another process does or has removed the directory; the block gets whether
    it is held."""
    file = None
    try:
        with passing(FileNotFoundError):
            path = _lock_file(directory)
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        yield file is not None and _take(file) and _is_still_there(path, file)
    finally:
        if file is not None:
            os.close(file)


@contextmanager
def locked(directory: Path, patience_s: float = 0.0, *, creates: bool = True) -> Iterator[None]:
    """Hold the lock within the block. ``creates``: the directory, where it does not exist.

    Raises:
        SpoolLockedError: another process has it, also after ``patience_s``, or has removed the directory.
    """
    deadline = time.monotonic() + patience_s
    while True:
        if creates:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with held(directory) as is_ours:
            if is_ours:
                yield
                return
        if time.monotonic() >= deadline:
            raise SpoolLockedError(f"{directory} is in use by another process, or was removed by it")
        time.sleep(POLL_S)


def _lock_file(directory: Path) -> Path:
    """
    Raises:
        FileNotFoundError: there is no such directory.
        OSError: there is no safe place for a lock of this host.
    """
    directory.stat()
    if not is_remote(directory):
        return directory / LOCK
    place = next(path for path in PLACES if os.access(path, os.W_OK | os.X_OK)) / f"underfed-locks-{os.getuid()}"
    place.mkdir(mode=0o700, exist_ok=True)
    found = place.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(errno.EPERM, f"{place} is not a private directory of user {os.getuid()}")
    return place / hashlib.sha256(os.fsencode(directory.resolve())).hexdigest()[:32]


def is_held(directory: Path) -> bool:
    """Whether some process holds it now. Creates no lock: who leaves the directory could not remove it then."""
    try:
        file = os.open(_lock_file(directory), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError as error:
        let_through(error)
        return False
    try:
        return not _take(file)
    finally:
        os.close(file)


def _take(file: int) -> bool:
    """Whether no other process has locked it."""
    import fcntl  # not on Windows, where nothing is locked but this is imported

    with passing(OSError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _is_still_there(path: Path, file: int) -> bool:
    """Whoever leaves a directory removes its lock. One that was opened before holds nobody back."""
    with passing(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(file))
    return False
