"""The data files that a process has open or mapped: not its code, its devices, its output, or what processes share."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

MOST = 1024
"""Most open files, and most mapped ones, that are looked at: a process may have a hundred thousand."""

MAPS_BYTES = 1 << 20
"""Bytes of /proc/PID/maps that are read: a process that imported torch has 150 KB there."""

SYSTEM_PATHS = (
    "/proc/", "/sys/", "/dev/", "/etc/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/usr/bin/", "/usr/lib", "/usr/share/",
    "/usr/local/bin/", "/usr/local/lib/", "/run/secrets/", "/run/nscd/", "/var/run/", "/var/cache/", "/var/lib/sss/",
)  # fmt: skip
"""Directories of the system itself. Data sets do lie in /usr/src, /opt, /tmp and ~/.cache."""

SHARED_MEMORY = "/dev/shm/"
SHARED = ("torch_", "psm_", "sem.", "pym-", "cuda.", "nccl-", "underfed-")
"""What torch, multiprocessing, CUDA, NCCL and we put into shared memory. A data set may lie there too."""

CODE = (".py", ".pyc", ".so", ".pyi")
PACKAGES = ("/site-packages/", "/dist-packages/", "/lib/python")
OURS = "/underfed-"
GONE = " (deleted)"


def data_files(pid: int) -> set[str]:
    """Absolute paths without links, as this process sees them.

    Raises:
        OSError: the process is gone, may not be inspected, or the system does not show its files.
    """
    return {path for path in (*readable_files(pid), *mapped_files(pid)) if is_data(path)}


def readable_files(pid: int) -> Iterator[str]:
    """Files open for reading, without standard input, output and error: a file that is only written is no data set."""
    for link in islice(Path(f"/proc/{pid}/fd").iterdir(), MOST):
        try:
            if int(link.name) > 2 and link.lstat().st_mode & stat.S_IRUSR:
                yield str(link.readlink())
        except OSError:
            continue  # closed meanwhile


def mapped_files(pid: int) -> list[str]:
    """Mapped files of which no part is executable."""
    with Path(f"/proc/{pid}/maps").open("rb") as file:
        lines = file.read(MAPS_BYTES).splitlines()
    found: dict[bytes, bool] = {}
    for line in lines:
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].startswith(b"/"):
            found[fields[5]] = found.get(fields[5], False) or b"x" in fields[1]
    return [os.fsdecode(path) for path, is_code in found.items() if not is_code][:MOST]


def is_data(path: str) -> bool:
    """Whether a path may be one of a data set's files."""
    if not path.startswith("/") or path.endswith((GONE, *CODE)) or any(part in path for part in (*PACKAGES, OURS)):
        return False
    if path.startswith(SHARED_MEMORY):
        return not path.removeprefix(SHARED_MEMORY).startswith(SHARED)
    return not path.startswith(SYSTEM_PATHS)
