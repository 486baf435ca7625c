"""SQLite's log begins anew although one reader follows the other, and no post waits for any of them.

The log can begin anew only at a moment at which no reader has a snapshot. Where pages and judgements follow each other
without a gap there is none, so where it has become long we make one: for a fraction of a second no snapshot begins, in
whichever process, while the writer goes on.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Engine

from underfed_server.errors import StartError

KEPT_BYTES = 16 * 2**20
"""The log may stay so long. What a long transaction or a copy made it grow to beyond is given back to the disk."""

LONG_BYTES = 64 * 2**20
"""From here on readers are kept out: whatever is read is looked for in all of the log first. 2,400 ranks write so much
in seven seconds."""

LOOK_S = 2.0
"""How often the log is looked at."""

TRY_S = 0.02
"""How often it is, while readers are kept out."""

MOST_LOCKED_S = 0.4
"""Most readers are done by then. The others, such as an export, are waited for later, and later each time."""

MOST_APART_S = 16.0

GIVE_UP_S = 1.0
"""After which a reader goes on all the same: the writer may hang with its disk."""

POLL_S = 0.005


class Turnstile:
    """Every snapshot begins by passing it. It may be passed by any thread and by any process that has opened it."""

    def __init__(self, database: Path) -> None:
        """Raises:
        StartError: its file, beside the database, cannot be made.
        """
        try:
            file = os.open(
                database.with_name(f"{database.name}.turnstile"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise StartError(f"data cannot be kept in {database.parent}: {error.strerror}") from error
        self._file: int | None = file
        self._own = threading.Lock()

    def pass_through(self) -> None:
        """Wait while it is locked."""
        until = time.monotonic() + GIVE_UP_S
        while not self._take(fcntl.LOCK_SH) and time.monotonic() < until:
            time.sleep(POLL_S)
        self.unlock()

    def lock(self) -> bool:
        """``False``: somebody is just passing. The kernel unlocks it when the process ends, however it ends."""
        return self._take(fcntl.LOCK_EX)

    def unlock(self) -> None:
        self._take(fcntl.LOCK_UN)

    def close(self) -> None:
        """From then on nobody waits here, and it keeps nobody out."""
        with self._own:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def _take(self, kind: int) -> bool:
        # A thread may still pass when another one closes it: the number of a closed file may be another file's.
        with self._own, suppress(BlockingIOError):
            if self._file is not None:
                fcntl.flock(self._file, kind | fcntl.LOCK_NB)
            return True
        return False


class Journal:
    """Of the one thread that writes, which calls it between two transactions."""

    def __init__(self, writer: Engine, database: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._writer = writer
        self._database = database
        self._clock = clock
        self._turnstile = Turnstile(database)
        self._locked_at: float | None = None
        self._apart_s = LOOK_S
        self._due_at = 0.0

    def due_in(self) -> float:
        """Seconds until :meth:`bound` has something to do."""
        return max(0.0, self._due_at - self._clock())

    def bound(self) -> None:
        """Move the log into the file and cut it, if it is too long and no reader needs it."""
        now = self._clock()
        if now < self._due_at:
            return
        try:
            self._due_at = now + self._look(now)
        except BaseException:
            self._let_in()
            self._due_at = now + LOOK_S
            raise

    def close(self) -> None:
        """It keeps no reader out any more."""
        self._turnstile.close()

    def _let_in(self) -> None:
        self._turnstile.unlock()
        self._locked_at = None

    def _look(self, now: float) -> float:
        """Return in how many seconds to look again."""
        size = journal_bytes(self._database)
        if size <= KEPT_BYTES or _begun_anew(self._writer):
            self._let_in()
            self._apart_s = LOOK_S
            return LOOK_S
        if size <= LONG_BYTES:
            return LOOK_S
        if self._locked_at is None:
            self._locked_at = now if self._turnstile.lock() else None
            return TRY_S
        if now < self._locked_at + MOST_LOCKED_S:
            return TRY_S
        self._let_in()
        self._apart_s = min(MOST_APART_S, 2 * self._apart_s)
        return self._apart_s


def _begun_anew(writer: Engine) -> bool:
    """``False``: a reader needs what the log has."""
    pooled = writer.raw_connection()
    try:
        connection = pooled.driver_connection
        assert isinstance(connection, sqlite3.Connection)
        (waits_ms,) = connection.execute("PRAGMA busy_timeout").fetchone()
        connection.execute("PRAGMA busy_timeout=0")
        try:
            is_busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.execute(f"PRAGMA busy_timeout={waits_ms}")
        return not is_busy
    finally:
        pooled.close()


def journal_of(database: Path) -> Path:
    return database.with_name(f"{database.name}-wal")


def journal_bytes(database: Path) -> int:
    try:
        return journal_of(database).stat().st_size
    except FileNotFoundError:
        return 0
