"""Deletes single rows beyond a project's age or size limit, archives and deletes whole runs, and gives the space back.

Roll-ups, histograms and verdicts stay: a run of years ago still shows its overview. Work is done in small pieces
between which windows are written. Several service processes may do so: a track whose rows another one deletes is left
to that one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial

from sqlalchemy import Connection, and_, select, update

from underfed_server.model import RunSummary
from underfed_server.store.databases import tables
from underfed_server.store.store import Store
from underfed_server.store.team.retention_policy import RetentionPolicy, projects_with_limits
from underfed_server.store.upkeep.periodic import PeriodicThread
from underfed_server.store.upkeep.surplus import Surplus, find_surplus
from underfed_server.store.writing.tail import belongs_to

EVERY_S = 60.0
REST_S = 0.02
"""Rest after each piece of work: windows come first."""

CHUNKS_A_WRITE = 16
"""Bytes deleted in one transaction: some milliseconds of the writer's time."""

PAGES_A_WRITE = 128
SPARE_PAGES = 2_000
"""Free pages, 8 MB, that an SQLite file keeps for coming windows; those beyond go back to the disk."""


class Retention:
    """Starts with :meth:`start`, ends with :meth:`close`."""

    def __init__(
        self,
        store: Store,
        for_all: RetentionPolicy,
        notify: Callable[[RunSummary], None] = lambda run: None,  # noqa: ARG005
    ) -> None:
        """``for_all``: the policy of projects without one of their own. ``notify`` is called with each run that was
        archived or deleted; it must not block.
        """
        self._store = store
        self._for_all = for_all
        self._notify = notify
        self._thread = PeriodicThread("retention", self._work, failed="old rows could not be deleted", failed_s=EVERY_S)
        self.start = self._thread.start
        self.close = self._thread.close

    def _work(self) -> float:
        self.age_runs()
        self.delete_surplus()
        return EVERY_S

    def age_runs(self) -> None:
        """Archive and delete whole runs that are due, until none is, or until :meth:`close`."""
        for project, policy in self._limited():
            while not self._thread.is_closing and any(policy.ages):
                changed = self._store.age_runs(project, policy.ages)
                for run_id in changed:
                    self._notify(self._store.state(run_id))
                if not changed:
                    break
                self._thread.rest(REST_S)

    def _limited(self) -> list[tuple[str, RetentionPolicy]]:
        with self._store.reading() as reader:
            return projects_with_limits(reader.connection, self._for_all)

    def delete_surplus(self) -> None:
        """Delete rows until none is beyond its age or size limit, or until :meth:`close`."""
        for project, policy in self._limited():
            while not self._thread.is_closing and policy.limits_rows and self._delete_some(project, policy):
                pass
        while not self._thread.is_closing and self._store.write(shrink):
            self._thread.rest(REST_S)

    def _delete_some(self, project: str, policy: RetentionPolicy) -> bool:
        """Whether there was something to delete, so that there may be more."""
        now = self._store.now()
        with self._store.reading() as reader:
            found = find_surplus(reader, project, policy, now)
        deleted = 0
        for pieces in _together(found):
            if self._thread.is_closing:
                return False
            deleted += self._store.write(partial(delete_rows, pieces, now))
            self._thread.rest(REST_S)
        return deleted > 0


def _together(found: Iterable[Surplus]) -> Iterator[list[Surplus]]:
    """Groups, of which each is deleted in one transaction."""
    pieces: list[Surplus] = []
    for surplus in found:
        for done in range(0, len(surplus.sizes), CHUNKS_A_WRITE):
            sizes = surplus.sizes[done : done + CHUNKS_A_WRITE]
            if sum(len(piece.sizes) for piece in pieces) + len(sizes) > CHUNKS_A_WRITE:
                yield pieces
                pieces = []
            pieces.append(Surplus(surplus.key, surplus.lane, surplus.first + done, sizes))
    if pieces:
        yield pieces


def delete_rows(pieces: Iterable[Surplus], now: datetime, connection: Connection) -> int:
    """Returns the number of chunks that lost their rows."""
    return sum(_delete_rows(piece, now, connection) for piece in pieces)


def _delete_rows(surplus: Surplus, now: datetime, connection: Connection) -> int:
    """Deletes the rows of all the chunks, or of none where another process was quicker."""
    track, chunk = tables.track, tables.chunk
    is_ours = and_(belongs_to(track, surplus.key), track.c.lane == surplus.lane)
    dropped = select(track.c.dropped_chunks).where(is_ours).with_for_update(skip_locked=True)
    if connection.execute(dropped).scalar() != surplus.first:
        return 0
    inside = and_(chunk.c.lane == surplus.lane, chunk.c.ordinal.between(surplus.first, surplus.stop - 1))
    connection.execute(update(chunk).where(belongs_to(chunk, surplus.key), inside).values(body=b""))
    left = {"dropped_chunks": surplus.stop, "chunk_bytes": track.c.chunk_bytes - sum(surplus.sizes), "dropped_at": now}
    connection.execute(update(track).where(is_ours).values(**left))
    return len(surplus.sizes)


def shrink(connection: Connection) -> bool:
    """Give some free pages of the file back to the disk. ``False``: it has none to give.

    PostgreSQL reuses its pages by itself.
    """
    if connection.dialect.name != "sqlite":
        return False
    free = connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()
    if free <= SPARE_PAGES:
        return False
    for _ in range(min(PAGES_A_WRITE, free - SPARE_PAGES)):
        # It frees one page per fetched row, and the driver fetches no rows without a column.
        connection.exec_driver_sql("PRAGMA incremental_vacuum(1)")
    return True
