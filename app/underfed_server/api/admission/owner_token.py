"""The token with which the owner of an open service administers it, in a file that nobody else can read.

Whoever is on the machine may read an open service and send windows to it; a change takes this token.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp

from underfed_server.errors import StartError

LISTENS = "0A"
"""State of a socket in Linux's tables of sockets."""


def read_or_make(path: Path, what: str = "token") -> str:
    """The token in the file, or another secret (``what``); a new one where there is no file.

    Raises:
        StartError: it cannot be read or made, or others could have read it.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            _make(path)
        # Read also where it was just made: in a directory that others may write it could be another's file by now.
        return _read(path, what)
    except OSError as error:
        raise StartError(f"the {what} of this service cannot be kept in {path}: {error.strerror}") from error


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


def _make(path: Path) -> None:
    """Under its name only once it is whole: two services may start at once."""
    file, unfinished = mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(file, "w") as writing:
            writing.write(f"{secrets.token_urlsafe(32)}\n")
        os.link(unfinished, path)
    finally:
        Path(unfinished).unlink()


def _read(path: Path, what: str = "token") -> str:
    # A pipe in its place would be waited for without end.
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(file) as reading:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise StartError(f"{path} is no file; remove it, and the next start makes one")
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise StartError(f"others may know the {what} in {path}; remove the file, and the next start makes another")
        token = reading.read(1_000).strip()
    if not token:
        raise StartError(f"there is no {what} in {path}; remove the file, and the next start makes another")
    return token
