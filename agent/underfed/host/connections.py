"""TCP connections that a process opened itself, seen from outside."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from underfed.host import procfs

MOST = 1024
"""Most open files of a process that are looked at: it may have a hundred thousand."""

TABLES_BYTES = 1 << 20
"""Of the list of all connections of its network, which are read: about 7,000."""

ESTABLISHED = b"01"
STATE, INODE = 3, 9
"""Columns of /proc/net/tcp (proc_pid_net(5))."""


def own_connections(pids: Iterable[int]) -> dict[int, int | None]:
    """How many of each process are open now, those left out that it inherited. ``None``: it may not be looked at, or is
    gone.

    The kernel walks all of a network's connections to list them, which takes milliseconds: once for all its processes.
    """
    established: dict[str, set[bytes]] = {}
    return {pid: _own(pid, established) for pid in pids}


def _own(pid: int, established: dict[str, set[bytes]]) -> int | None:
    """``established``: of each network that was listed."""
    parent = procfs.parent(pid)
    try:
        own = _sockets(pid) - (set() if parent is None else _sockets(parent))
        if not own:
            return 0
        network = os.readlink(f"/proc/{pid}/ns/net")  # noqa: PTH115
        if network not in established:
            established[network] = _established(pid)
        return len(own & established[network])
    except OSError:
        return None


def _sockets(pid: int) -> set[bytes]:
    """Inodes."""
    directory = f"/proc/{pid}/fd"
    found = set()
    for name in os.listdir(directory)[:MOST]:  # noqa: PTH208  # names alone
        try:
            link = os.readlink(f"{directory}/{name}")  # noqa: PTH115
        except FileNotFoundError:
            continue  # closed meanwhile
        if link.startswith("socket:["):
            found.add(link[len("socket:[") : -1].encode())
    return found


def _established(pid: int) -> set[bytes]:
    """Inodes."""
    found = set()
    for table in ("tcp", "tcp6"):
        with Path(f"/proc/{pid}/net/{table}").open("rb") as file:
            rows = [line.split() for line in file.read(TABLES_BYTES).splitlines()[1:]]
        found |= {row[INODE] for row in rows if len(row) > INODE and row[STATE] == ESTABLISHED}
    return found
