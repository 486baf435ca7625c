"""What keeps a database from being read or written, in a sentence for the person who can end it."""

from __future__ import annotations

import logging
import sqlite3
import time

from sqlalchemy.exc import DBAPIError

from underfed_server.errors import TryLaterError

log = logging.getLogger("underfed.store")

CALM_S = 3.0
"""So long without a failure it is over: on a nearly full disk small writes succeed while large ones fail."""

RESTORE = (
    "stop the service, put a back-up (underfed backup) in its place without the -wal and -shm files beside it, "
    "and start again; docs/operations.md says more"
)
CORRUPTED = f"the file is damaged: {RESTORE}"
FOREIGN = f"file is not a database: choose another with --db; or, if it was one, {RESTORE}"

# By SQLite's message (sqlite.org/rescode.html): Python has its code only from 3.11 on.
_SQLITE = (
    ("disk is full", "the disk is full; free some space, and the service goes on by itself"),
    ("disk I/O error", "the disk fails, or is full: the kernel's log says which"),
    ("readonly database", "the file or its disk is read-only; make it writable, and the service goes on by itself"),
    ("disk image is malformed", CORRUPTED),
    ("file is not a database", FOREIGN),
    ("unable to open database file", "the file or its directory is gone or closed to this user"),
    ("database is locked", "another process holds the file"),
    ("locking protocol", "another process holds the file"),
)

# The first two characters of an SQLSTATE (PostgreSQL's documentation, appendix A).
_POSTGRESQL = {
    "08": "the connection to the database server is lost",
    "53": "the database server is out of disk, memory or connections",
    "57": "the database server is stopping or starting",
    "58": "the database server's disk fails: its log says how",
    "40": "several service processes write the same at once",
    "55": "several service processes write the same at once",
    "25": "the database server takes no writes; it may be a replica",
    "XX": "the database server's data are damaged: its log says where",
}


def trouble_of(error: BaseException) -> str | None:
    """The sentence; ``None``: the error lies in the statement, not in the database."""
    original = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(original, sqlite3.Error):
        return next((sentence for part, sentence in _SQLITE if part in str(original)), None)
    return _of_postgresql(original) if isinstance(error, DBAPIError) else None


def refusal_of(error: BaseException) -> TryLaterError | None:
    """The answer to a request whose read failed by trouble of the database; ``None``: by something else."""
    trouble = trouble_of(error)
    if trouble is None:
        return None
    log.error("the database cannot be read: %s (%s)", trouble, getattr(error, "orig", error))
    return TryLaterError(f"the database cannot be read: {trouble}", retry_after_s=5)


def log_failure(log: logging.Logger, error: Exception, what: str) -> None:
    """Log that ``what`` failed on a thread that will try again: with a sentence where the database is in trouble, since
    that recurs with every try; else with a traceback.
    """
    trouble = trouble_of(error)
    if isinstance(error, TryLaterError):
        log.info("%s: %s", what, error)
    elif trouble is not None:
        log.warning("%s: %s", what, trouble)
    else:
        log.error("%s", what, exc_info=error)


def _of_postgresql(error: BaseException | None) -> str | None:
    code = getattr(error, "sqlstate", None)
    if code is None:
        # The server was not reached or closed the connection: without an answer there is no code.
        return _POSTGRESQL["08"] if type(error).__name__ == "OperationalError" else None
    return _POSTGRESQL.get(code[:2])


class TroubleLog:
    """Logs once that trouble began and once that it ended: refused posts come again every second meanwhile."""

    def __init__(self) -> None:
        self.trouble: str | None = None
        self._failed_at = 0.0

    def note(self, error: BaseException | None) -> str | None:
        """The trouble that ``error`` shows, if any; ``None`` as an error: a write succeeded."""
        trouble = None if error is None else trouble_of(error)
        if trouble is not None and self.trouble is None:
            log.error("the database cannot be written: %s (%s)", trouble, getattr(error, "orig", error))
        if trouble is not None:
            self.trouble, self._failed_at = trouble, time.monotonic()
        elif error is None and self.trouble is not None and time.monotonic() - self._failed_at > CALM_S:
            log.warning("the database can be written again")
            self.trouble = None
        return trouble
