"""The thread that copies an SQLite file at intervals (``--backup-every``) and deletes the oldest copies."""

from __future__ import annotations

import logging
import time
from datetime import datetime, timezone
from pathlib import Path

from underfed_server.counters import Counters
from underfed_server.errors import BackupError
from underfed_server.settings import Backups
from underfed_server.store.databases.sqlite_backup import back_up
from underfed_server.store.upkeep.periodic import PeriodicThread

log = logging.getLogger("underfed.backup")

AGAIN_S = 600.0
"""After a failure: a disk that is full now may not be in a while."""

CLOSING_S = 1.5
PATTERN = "underfed-*.db"


class ScheduledBackups:
    """Starts with :meth:`start`, ends with :meth:`close`; a copy that is under way then is not finished."""

    def __init__(self, database: Path, chosen: Backups, counters: Counters) -> None:
        self._database = database
        self._chosen = chosen
        self._counters = counters
        if (newest := self._newest()) is not None:
            counters.backup_at.set(newest.stat().st_mtime)
        failed = "the database could not be backed up"
        self._thread = PeriodicThread("backup", self._work, failed=failed, failed_s=AGAIN_S, closing_s=CLOSING_S)
        self.start = self._thread.start
        self.close = self._thread.close

    def _work(self) -> float:
        """A copy if one is due. The seconds until the next one is: a restart neither skips one nor makes one more."""
        newest = self._newest()
        age_s = None if newest is None else time.time() - newest.stat().st_mtime
        # One from the future was made before the clock was set back.
        if age_s is not None and 0 <= age_s < self._chosen.every_s:
            return self._chosen.every_s - age_s
        try:
            self._back_up()
        except (BackupError, OSError) as error:
            self._counters.backup_failures.inc()
            log.error("the database could not be backed up: %s", error)  # noqa: TRY400 the message is the reason
            return min(AGAIN_S, self._chosen.every_s)
        return self._chosen.every_s

    def _back_up(self) -> None:
        directory = self._chosen.directory
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for broken_off in directory.glob(f"{PATTERN}.partial*"):
            broken_off.unlink()
        target = directory / f"underfed-{datetime.now(timezone.utc):%Y-%m-%dT%H%M%SZ}.db"
        size = back_up(self._database, target)
        self._counters.backup_at.set(time.time())
        log.info("backed up to %s, %s bytes", target, f"{size:,}")
        for surplus in self._copies()[: -self._chosen.keep]:
            surplus.unlink()

    def _copies(self) -> list[Path]:
        """The oldest first."""
        return sorted(self._chosen.directory.glob(PATTERN), key=lambda path: path.stat().st_mtime)

    def _newest(self) -> Path | None:
        copies = self._copies()
        return copies[-1] if copies else None
