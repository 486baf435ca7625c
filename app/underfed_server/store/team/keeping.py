"""How long and how exactly a project's single rows are kept, and how much its runs take."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select

from underfed_server.store.databases import tables
from underfed_server.store.databases.upsert import upsert

FOR_EVER = 0
"""What a project sets to have no limit where the service has one for all."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """``None``: not said. :data:`FOR_EVER`: no limit."""

    retain_us: int | None = None
    """Single rows older than this are given up."""
    max_bytes: int | None = None
    """The oldest single rows are given up until a project takes no more."""
    precision_bits: int | None = None
    """Significant bits of durations that are laid down from now on; ``None``: all."""

    @property
    def has_limit(self) -> bool:
        return bool(self.retain_us or self.max_bytes)


@dataclass(frozen=True, slots=True)
class Taken:
    """On disk, without windows that wait for their chunk, which are bounded, and without what a database adds."""

    row_bytes: int
    """Single rows: what retention can give up."""
    ladder_bytes: int
    """Tiers, roll-ups and histograms: kept as long as the run."""
    given_up_at: datetime | None
    """When retention last gave up rows; ``None``: never."""

    @property
    def total_bytes(self) -> int:
        return self.row_bytes + self.ladder_bytes


def read_own(connection: Connection, project: str) -> Keeping:
    """What the project set for itself."""
    own = tables.project.c
    columns = (own.retain_us, own.max_bytes, own.precision_bits)
    row = connection.execute(select(*columns).where(own.project == project)).first()
    return Keeping() if row is None else Keeping(*row)


def put_own(connection: Connection, project: str, keeping: Keeping) -> None:
    row = {
        "project": project,
        "retain_us": keeping.retain_us,
        "max_bytes": keeping.max_bytes,
        "precision_bits": keeping.precision_bits,
    }
    connection.execute(upsert(connection, tables.project), row)


def in_force(own: Keeping, for_all: Keeping) -> Keeping:
    """A project's own word wins over the service's."""
    return Keeping(
        for_all.retain_us if own.retain_us is None else own.retain_us,
        for_all.max_bytes if own.max_bytes is None else own.max_bytes,
        own.precision_bits,
    )


def limited_projects(connection: Connection, for_all: Keeping) -> list[tuple[str, Keeping]]:
    """Projects whose rows are not kept for ever, with what holds for them."""
    names = select(tables.run.c.project).distinct()
    if not for_all.has_limit:
        names = names.where(tables.run.c.project.in_(select(tables.project.c.project)))
    found = [(name, in_force(read_own(connection, name), for_all)) for name in connection.execute(names).scalars()]
    return [(name, keeping) for name, keeping in found if keeping.has_limit]


def read_taken(connection: Connection, project: str) -> Taken:
    track = tables.track.c
    sums = (func.coalesce(func.sum(column), 0) for column in (track.chunk_bytes, track.ladder_bytes))
    statement = select(*sums, func.max(track.dropped_at)).join(tables.run, track.run_id == tables.run.c.run_id)
    row = connection.execute(statement.where(tables.run.c.project == project)).one()
    return Taken(int(row[0]), int(row[1]), row[2])
