"""The token with which the owner of an open service administers it, in a file that nobody else can read.

Whoever is on the machine may read an open service and send windows to it; a change takes this token.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from underfed_server.errors import StartError

LISTENS = "0A"
"""State of a socket in Linux's tables of sockets."""


def read_or_make(path: Path) -> str:
    """The token in the file; a new one where there is no file.

    Raises:
        StartError: it cannot be read or made, or others could have read it.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return _made(path)
        except FileExistsError:
            return _read(path)
    except OSError as error:
        raise StartError(f"the token of this service cannot be kept in {path}: {error.strerror}") from error


def read(path: Path) -> str | None:
    """``None``: there is none for this user."""
    try:
        return _read(path)
    except (OSError, StartError):
        return None


def is_listened_to_by_this_user(port: int) -> bool:
    """Whether nobody else listens on this port of the machine: who did would be sent the token.

    Only Linux says whose a socket is; elsewhere it is taken for this user's.
    """
    tables = [table for name in ("tcp", "tcp6") if (table := Path(f"/proc/self/net/{name}")).exists()]
    rows = [line.split() for table in tables for line in table.read_text().splitlines()[1:]]
    owners = {int(row[7]) for row in rows if row[3] == LISTENS and int(row[1].rpartition(":")[2], 16) == port}
    return not tables or owners == {os.getuid()}


def _made(path: Path) -> str:
    """Under its name only once it is whole: two services may start at once."""
    token = secrets.token_urlsafe(32)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    file = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(file, "w") as writing:
            writing.write(f"{token}\n")
        os.link(unfinished, path)
    finally:
        unfinished.unlink()
    return token


def _read(path: Path) -> str:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with os.fdopen(file) as reading:
        found = os.fstat(file)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise StartError(f"others may know the token in {path}; remove the file, and the next start makes another")
        token = reading.read(1_000).strip()
    if not token:
        raise StartError(f"there is no token in {path}; remove the file, and the next start makes another")
    return token
