"""How long and how exactly a project's single rows are kept, how long its runs, and how much these take."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select

from underfed_server.store.databases import tables
from underfed_server.store.databases.dialects import put
from underfed_server.store.runs.ageing import Ages
from underfed_server.store.runs.audit_log import UNKNOWN, AuditOf, Author, add_entry
from underfed_server.store.runs.removal import in_words as in_days

NONE = "no limit"
FOR_EVER = 0
"""What a project sets to have no limit although the service has one."""


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """``None``: not set. :data:`FOR_EVER`: no limit."""

    retain_us: int | None = None
    """Single rows older than this are deleted."""
    max_bytes: int | None = None
    """The oldest single rows are deleted until a project takes no more."""
    precision_bits: int | None = None
    """Significant bits of durations that are stored from now on; ``None``: all."""
    archive_after_us: int | None = None
    """Whole runs that nobody changed for so long are archived."""
    delete_after_us: int | None = None
    """Whole runs that nobody changed for so long are deleted."""

    @property
    def limits_rows(self) -> bool:
        return bool(self.retain_us or self.max_bytes)

    @property
    def ages(self) -> Ages:
        return Ages(self.archive_after_us, self.delete_after_us)

    @property
    def has_limit(self) -> bool:
        return self.limits_rows or any(self.ages)


@dataclass(frozen=True, slots=True)
class StorageUse:
    """Bytes on disk, without windows that wait for compaction (bounded) and without the database's overhead."""

    row_bytes: int
    """Single rows: what retention can delete."""
    ladder_bytes: int
    """The roll-ups of chunks, roll-ups and histograms: kept as long as the run."""
    given_up_at: datetime | None
    """When retention last deleted rows; ``None``: never."""

    @property
    def total_bytes(self) -> int:
        return self.row_bytes + self.ladder_bytes


def read_policy(connection: Connection, project: str) -> RetentionPolicy:
    """The project's own policy."""
    own = tables.project.c
    columns = (own[field.name] for field in fields(RetentionPolicy))
    row = connection.execute(select(*columns).where(own.project == project)).first()
    return RetentionPolicy() if row is None else RetentionPolicy(*row)


def save_policy(
    connection: Connection, now: datetime, project: str, policy: RetentionPolicy, by: Author = UNKNOWN
) -> None:
    before, after = (in_words(each) for each in (read_policy(connection, project), policy))
    put(connection, tables.project, {"project": project, **asdict(policy)})
    if before != after:
        add_entry(connection, now, by, AuditOf("retention_changed", project, project, before=before, after=after))


def in_words(policy: RetentionPolicy) -> dict[str, str]:
    """As the audit log has it. What is the service's is left out."""
    said = {
        "steps kept": _age(policy.retain_us),
        "storage": None if policy.max_bytes is None else f"{policy.max_bytes / 1e9:g} GB" if policy.max_bytes else NONE,
        "durations": None if policy.precision_bits is None else f"{policy.precision_bits} bits",
        "archived after": _age(policy.archive_after_us),
        "deleted after": _age(policy.delete_after_us),
    }
    return {name: words for name, words in said.items() if words is not None}


def _age(age_us: int | None) -> str | None:
    return None if age_us is None else in_days(timedelta(microseconds=age_us)) if age_us else NONE


def read_retention(connection: Connection, project: str) -> tuple[RetentionPolicy, StorageUse]:
    """The project's own policy, and the storage that it uses."""
    return read_policy(connection, project), read_storage_use(connection, project)


def effective_policy(own: RetentionPolicy, for_all: RetentionPolicy) -> RetentionPolicy:
    """The project's own policy takes precedence over the service's."""
    return replace(for_all, **{name: value for name, value in asdict(own).items() if value is not None})


def projects_with_limits(connection: Connection, for_all: RetentionPolicy) -> list[tuple[str, RetentionPolicy]]:
    """Projects whose rows or runs are not kept for ever, with the policy in effect."""
    names = select(tables.run.c.project).distinct()
    if not for_all.has_limit:
        names = names.where(tables.run.c.project.in_(select(tables.project.c.project)))
    found = [
        (name, effective_policy(read_policy(connection, name), for_all)) for name in connection.execute(names).scalars()
    ]
    return [(name, policy) for name, policy in found if policy.has_limit]


def read_storage_use(connection: Connection, project: str) -> StorageUse:
    track = tables.track.c
    sums = (func.coalesce(func.sum(column), 0) for column in (track.chunk_bytes, track.ladder_bytes))
    statement = select(*sums, func.max(track.dropped_at)).join(tables.run, track.run_id == tables.run.c.run_id)
    row = connection.execute(statement.where(tables.run.c.project == project)).one()
    return StorageUse(int(row[0]), int(row[1]), row[2])
