"""TCP connections that a process opened itself, seen from outside."""

from __future__ import annotations

import os
from pathlib import Path

from underfed.host import procfs

MOST = 1024
"""Most open files of a process that are looked at: it may have a hundred thousand."""

TABLES_BYTES = 1 << 20
"""Of the list of all connections of its network, which are read: about 7,000."""

ESTABLISHED = b"01"
STATE, INODE = 3, 9
"""Columns of /proc/net/tcp (proc_pid_net(5))."""


def own_connections(pid: int) -> int | None:
    """How many are open now, those left out that it inherited. ``None``: it may not be looked at, or is gone."""
    parent = procfs.parent(pid)
    try:
        own = _sockets(pid) - (set() if parent is None else _sockets(parent))
        return len(own & _established(pid)) if own else 0
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
