"""The tables. Every key begins with ``run_id``, so that one day runs can be spread over several databases.

A **stream** is what one rank's process of one incarnation sends. Its recorded rows lie in **lanes**
(``steps:LOADER``, ``batches:LOADER``, ``worker:WORKER:LOADER``, ``process``, ``host``, ``gpu:INDEX``), new ones as
``hot`` windows as they were posted, older ones as ``chunk`` with roll-ups beside them (``chunk.rollups``, ``rollup``).
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta, timezone
from typing import Any

from sqlalchemy import (
    DDL,
    JSON,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Dialect,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    event,
    true,
)

from underfed_server.measurements import RATES

UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MICROSECOND = timedelta(microseconds=1)


def unix_us(at: datetime) -> int:
    return (at - UNIX_EPOCH) // MICROSECOND


class Instant(TypeDecorator[datetime]):
    """An aware ``datetime`` in Python, Unix microseconds in the database: exact, sortable, alike on every engine."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:  # noqa: ARG002
        return None if value is None else unix_us(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return None if value is None else UNIX_EPOCH + timedelta(microseconds=value)


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _key(name: str, kind: type[Text | Integer | BigInteger]) -> Column[Any]:
    return Column(name, kind, primary_key=True, nullable=False, autoincrement=False)


def _stream_key() -> tuple[Column[Any], ...]:
    return _key("run_id", Text), _key("rank", Integer), _key("incarnation", BigInteger)


run = Table(
    "run",
    metadata,
    _key("run_id", Text),
    Column("project", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("job", Text, nullable=False),
    Column("user", Text, nullable=False),
    Column("tags", JSON, nullable=False),
    # Edits by a person take precedence over what the agent sends, however often it sends that again.
    Column("edited_name", Text),
    Column("edited_tags", JSON(none_as_null=True)),
    Column("notes", Text, nullable=False),
    Column("command", JSON, nullable=False),
    Column("script", Text),
    Column("config", JSON, nullable=False),
    Column("overrides", JSON, nullable=False),
    Column("advice_of", Text),
    Column("replay", JSON(none_as_null=True)),
    # The same run in other tools.
    Column("trackers", JSON, nullable=False),
    Column("agent_version", Text),
    Column("python_version", Text),
    Column("torch_version", Text),
    Column("cuda_version", Text),
    Column("hip_version", Text),
    Column("cudnn_version", Text),
    Column("started_by", Text),
    Column("launcher", Text),
    Column("restart_count", BigInteger),
    # Where a cluster's scheduler has it. Pods are of ranks.
    Column("slurm_job_id", Text),
    Column("namespace", Text),
    Column("train_job", Text),
    Column("queue", Text),
    Column("world_size", Integer, nullable=False),
    Column("started_at", Instant, nullable=False),
    Column("last_seen_at", Instant, nullable=False),
    Column("changed_at", Instant, nullable=False),
    Column("ended_at", Instant),
    Column("exit_reason", Text),
    # Ranks whose newest incarnation has not reported its end, and those that reported a crash.
    Column("open_ranks", Integer, nullable=False),
    Column("crashed_ranks", Integer, nullable=False),
    # The last judgement in the columns that the list of runs is filtered and sorted by.
    Column("judged_at", Instant),
    Column("judged_status", Text),
    Column("loader", Text),
    Column("bound", Text, nullable=False),
    Column("level", Text, nullable=False),
    Column("is_mostly_paused", Boolean),
    Column("cause", Text),
    Column("data_stall_fraction", Float),
    # Each of the rank in which it is largest.
    Column("max_data_stall_fraction", Float),
    Column("copy_fraction", Float),
    Column("max_data_wait_us", BigInteger),
    Column("max_data_wait_p95_us", BigInteger),
    Column("max_queue_empty_fraction", Float),
    Column("steps_per_s", Float),
    Column("samples_per_s", Float),
    Column("step_us", BigInteger),
    Column("hours_lost", Float),
    Column("gpu_hours_lost", Float),
    Column("hours_used", Float),
    Column("predicted_speedup", Float),
    Column("least_speedup", Float),
    Column("best_advice", JSON(none_as_null=True)),
    Column("observed_speedup", Float),
    # At least, by the interval of what was observed.
    Column("observed_low", Float),
    Column("spark", JSON, nullable=False),
    # Archived by a person, or by its age: out of the list and its counts unless requested. Its hours still count.
    Column("archived_at", Instant),
    # Deleted by a person, or by its age: in the list of deleted runs alone, and removed for good once it can no longer
    # be restored. Its hours still count: they were lost.
    Column("deleted_at", Instant),
    # When a person last edited, archived or restored it; null: never.
    Column("touched_at", Instant),
    # The service process that judges the run, and until when, so that processes that share a database do no work twice.
    Column("judge", Text),
    Column("judge_until", Instant),
    Index(None, "job"),
    Index(None, "project"),
    Index(None, "started_at"),
    # Begins with what is asked for by value, and has the rest of what the list, its counts and the week need of every
    # run: a tenth of the run's row, which also has its configuration.
    Index(
        "ix_run_listed", "changed_at", "run_id", "deleted_at", "archived_at", "started_at", "last_seen_at",
        "ended_at", "open_ranks", "crashed_ranks", "hours_lost", "hours_used", "gpu_hours_lost", "cause",
    ),
)  # fmt: skip


def of_projects(projects: Collection[str] | None) -> ColumnElement[bool]:
    """Runs of these projects; ``None``: of any."""
    return is_of(run.c.project, projects)


def is_of(column: ColumnElement[Any], projects: Collection[str] | None) -> ColumnElement[bool]:
    """The column is one of these projects; ``None``: anything."""
    return true() if projects is None else column.in_(sorted(projects))


diagnosis = Table(
    "diagnosis",
    metadata,
    _key("run_id", Text),
    Column("body", Text, nullable=False),
    # What a run that tunes itself is to try, as the answer to an agent that asks has it.
    Column("candidates", JSON(none_as_null=True)),
    Column("judged_at", Instant, nullable=False),
    # When its content last changed.
    Column("changed_at", Instant, nullable=False),
)

tag = Table(
    "tag",
    metadata,
    # The tags in effect, for the filter: edited ones where a person edited them.
    _key("run_id", Text),
    _key("key", Text),
    Column("value", Text, nullable=False),
    Index(None, "key", "value"),
    sqlite_with_rowid=False,
)

rank = Table(
    "rank",
    metadata,
    _key("run_id", Text),
    _key("rank", Integer),
    Column("incarnation", BigInteger, nullable=False),
    Column("hostname", Text),
    Column("pod", Text),
    Column("local_rank", Integer),
    Column("host", JSON(none_as_null=True)),
    Column("devices", JSON, nullable=False),
    # Of the first device.
    Column("gpu_name", Text),
    Column("not_measured", JSON, nullable=False),
    # Searched for every run of the list: without reading the facts beside them.
    Index(None, "run_id", "hostname", "gpu_name"),
)

loader = Table(
    "loader",
    metadata,
    _key("run_id", Text),
    _key("loader", Text),
    Column("info", JSON, nullable=False),
    # Null where it is not an integer.
    Column("num_workers", Integer),
)

stream = Table(
    "stream",
    metadata,
    *_stream_key(),
    Column("last_window_index", BigInteger, nullable=False),
    Column("started_at", Instant, nullable=False),
    Column("end_us", BigInteger, nullable=False),
    Column("has_run", Boolean, nullable=False),
    Column("end_status", Text),
    Column("exit_reason", Text),
    Column("exit_code", BigInteger),
    Column("dropped_steps", BigInteger, nullable=False),
    Column("dropped_batches", BigInteger, nullable=False),
    Column("dropped_windows", BigInteger, nullable=False),
    Column("rejected_windows", BigInteger, nullable=False),
    Column("agent_errors", BigInteger, nullable=False),
    # Mean per step = total / steps, over the windows that carried it.
    Column("overhead_us_total", Float, nullable=False),
    Column("overhead_steps", BigInteger, nullable=False),
    # What is in ``hot`` and waits for compaction.
    Column("hot_rows", BigInteger, nullable=False),
    Column("hot_windows", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
Index(
    "ix_stream_hot", stream.c.run_id, sqlite_where=stream.c.hot_windows > 0, postgresql_where=stream.c.hot_windows > 0
)

track = Table(
    "track",
    metadata,
    *_stream_key(),
    _key("lane", Text),
    # Of steps: all that were recorded. Of another lane: those in chunks, or, before there is one, those of the window
    # that it came with; what is hot is counted by who reads it, since a host's window has samples of a dozen lanes.
    Column("rows", BigInteger, nullable=False),
    # Of steps: one past the highest step index: rows that were dropped before they were sent count too.
    Column("next_index", BigInteger, nullable=False),
    Column("step_us_total", BigInteger, nullable=False),
    Column("data_wait_us_total", BigInteger, nullable=False),
    Column("chunks", Integer, nullable=False),
    Column("chunk_rows", BigInteger, nullable=False),
    # Size of the chunks' rows, without their roll-ups; retention deletes them from the oldest on.
    Column("chunk_bytes", BigInteger, nullable=False),
    # The first so many chunks have only their roll-ups left.
    Column("dropped_chunks", Integer, nullable=False),
    Column("dropped_at", Instant),
    # Size of the chunks' roll-ups and of those above them: kept as long as the run.
    Column("ladder_bytes", BigInteger, nullable=False),
    # Significant bits of the durations in the chunk that was rounded most; null: all are exact.
    Column("precision_bits", Integer),
    sqlite_with_rowid=False,
)

epoch = Table(
    "epoch",
    metadata,
    *_stream_key(),
    _key("loader", Text),
    _key("epoch_index", BigInteger),
    Column("program_epoch", BigInteger),
    Column("start_us", BigInteger, nullable=False),
    Column("iterator_us", BigInteger),
    Column("startup_us", BigInteger),
    Column("sampler_us", BigInteger),
    Column("grad_enabled", Boolean),
    Column("graph_built", Boolean),
    Column("in_background", Boolean),
    Column("first_step_index", BigInteger, nullable=False),
    Column("steps", BigInteger),
    Column("end_us", BigInteger),
    Column("ending_us", BigInteger),
    Column("ended", Text),
    sqlite_with_rowid=False,
)

worker_life = Table(
    "worker_life",
    metadata,
    *_stream_key(),
    _key("loader", Text),
    _key("iterator_index", BigInteger),
    _key("worker", BigInteger),
    Column("epoch_index", BigInteger),
    Column("pid", BigInteger),
    Column("start_us", BigInteger),
    Column("end_us", BigInteger),
    Column("ended", Text),
    sqlite_with_rowid=False,
)

storage = Table(
    "storage",
    metadata,
    *_stream_key(),
    _key("loader", Text),
    _key("mount", Text),
    Column("file_system", Text),
    Column("device", Text),
    Column("kind", Text, nullable=False),
    Column("files_seen", BigInteger, nullable=False),
    Column("example", Text),
    sqlite_with_rowid=False,
)

stacks = Table(
    "stacks",
    metadata,
    *_stream_key(),
    _key("loader", Text),
    # The window that it came with.
    Column("window_index", BigInteger, nullable=False),
    # As it was sent last, compressed.
    Column("body", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

loader_settings = Table(
    "loader_settings",
    metadata,
    # Of each process that used the loader: the next one may have others.
    *_stream_key(),
    _key("loader", Text),
    Column("settings", JSON, nullable=False),
    sqlite_with_rowid=False,
)

tuning = Table(
    "tuning",
    metadata,
    *_stream_key(),
    _key("loader", Text),
    # As it was sent last, compressed.
    Column("body", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

host_switch = Table(
    "host_switch",
    metadata,
    # Of a run that tunes itself on several hosts: what the first rank of each host sent the others last.
    _key("run_id", Text),
    _key("rank", Integer),
    Column("incarnation", BigInteger, nullable=False),
    Column("window_index", BigInteger, nullable=False),
    Column("body", JSON, nullable=False),
    sqlite_with_rowid=False,
)

read_rate = Table(
    "read_rate",
    metadata,
    # Of the judged loader, in the place that most of its files lie in.
    _key("run_id", Text),
    Column("place", Text, nullable=False),
    Column("readers", Float, nullable=False),
    Column("bytes_per_s", Float, nullable=False),
    Column("sample_bytes", Float, nullable=False),
    Column("is_limited", Boolean, nullable=False),
    Column("measured_at", Instant, nullable=False),
    Index(None, "place", "measured_at"),
    sqlite_with_rowid=False,
)

peak = Table(
    "peak",
    metadata,
    # The highest rate that a rank saw on the host that it samples.
    _key("run_id", Text),
    _key("rank", Integer),
    *(Column(rate, Float) for rate in RATES),
    sqlite_with_rowid=False,
)

hot = Table(
    "hot",
    metadata,
    *_stream_key(),
    _key("window_index", BigInteger),
    # Rows in its longest lane, by which it is decided when the stream is compacted.
    Column("rows", Integer, nullable=False),
    Column("encoding", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

chunk = Table(
    "chunk",
    metadata,
    *_stream_key(),
    _key("lane", Text),
    _key("ordinal", Integer),
    Column("rows", Integer, nullable=False),
    Column("first_index", BigInteger, nullable=False),
    Column("first_us", BigInteger, nullable=False),
    Column("rollups", LargeBinary, nullable=False),
    # Empty once retention deleted the rows.
    Column("body", LargeBinary, nullable=False),
    Index(None, "run_id", "rank", "incarnation", "lane", "first_index"),
)

rollup = Table(
    "rollup",
    metadata,
    *_stream_key(),
    _key("lane", Text),
    # A roll-up of 2^level consecutive chunks: those from ordinal × 2^level on.
    _key("level", Integer),
    _key("ordinal", Integer),
    Column("body", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

histogram = Table(
    "histogram",
    metadata,
    *_stream_key(),
    _key("lane", Text),
    _key("measure", Text),
    # As of ``rollup``; level 0 is of one chunk.
    _key("level", Integer),
    _key("ordinal", Integer),
    Column("body", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

token = Table(
    "token",
    metadata,
    Column("digest", LargeBinary, primary_key=True, nullable=False),
    # Its name for people, since its secret cannot be read again.
    Column("token_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("scopes", JSON, nullable=False),
    # The only project it may touch; null: all.
    Column("project", Text),
    Column("made_at", Instant, nullable=False),
    Column("expires_at", Instant),
    Column("last_used_at", Instant),
    Column("revoked_at", Instant),
    Index(None, "token_id", unique=True),
)

session = Table(
    "session",
    metadata,
    Column("digest", LargeBinary, primary_key=True, nullable=False),
    # It ends with the token that opened it.
    Column("token_id", Text, nullable=False),
    Column("expires_at", Instant, nullable=False),
)

project = Table(
    "project",
    metadata,
    # How long and how exactly the steps of its runs are kept, and how long these; null: the service's default.
    Column("project", Text, primary_key=True, nullable=False),
    Column("retain_us", BigInteger),
    Column("max_bytes", BigInteger),
    Column("precision_bits", Integer),
    # Whole runs that nobody changed for so long are archived, and deleted.
    Column("archive_after_us", BigInteger),
    Column("delete_after_us", BigInteger),
)

config_value = Table(
    "config_value",
    metadata,
    # Of the run's configuration, for columns of the list.
    _key("run_id", Text),
    _key("key", Text),
    Column("value", JSON, nullable=False),
    # What it is sorted by: one of the two is null.
    Column("number", Float),
    Column("text", Text),
    Index(None, "key"),
    sqlite_with_rowid=False,
)

view = Table(
    "view",
    metadata,
    # A list of runs that was given a name: its filter, columns and grouping, as the query of the page's address.
    _key("view_id", Text),
    Column("project", Text),
    Column("name", Text, nullable=False),
    Column("query", Text, nullable=False),
    Column("made_by", Text, nullable=False),
    Column("changed_at", Instant, nullable=False),
)

removed_run = Table(
    "removed_run",
    metadata,
    # What stays of a run that was deleted and can no longer be restored: what it lost, to what, whose it was and where,
    # so that figures of past weeks do not change.
    _key("run_id", Text),
    Column("project", Text, nullable=False),
    Column("user", Text, nullable=False),
    Column("started_at", Instant, nullable=False),
    # Or last seen.
    Column("ended_at", Instant, nullable=False),
    Column("hours_lost", Float, nullable=False),
    Column("hours_used", Float, nullable=False),
    Column("gpu_hours_lost", Float),
    Column("cause", Text),
    Column("best_advice", JSON(none_as_null=True)),
    # Hosts, mounts and the kind of data set, as the team's figures are grouped.
    Column("places", JSON, nullable=False),
    # What it gained by the advice that it carried.
    Column("ledger", JSON, nullable=False),
    Index(None, "ended_at"),
)

counted_run = Table(
    "counted_run",
    metadata,
    # Of every run that used GPUs or ended, also of one that was removed for good: see store/runs/counted.py.
    _key("run_id", Text),
    Column("project", Text, nullable=False),
    Column("user", Text, nullable=False),
    # The verdict that it was counted by when it had ended.
    Column("bound", Text),
    Column("gpu_us", BigInteger, nullable=False),
)

counted_loss = Table(
    "counted_loss",
    metadata,
    # What such a run lost, by the causes that led when it did.
    _key("run_id", Text),
    _key("cause", Text),
    Column("project", Text, nullable=False),
    Column("user", Text, nullable=False),
    Column("gpu_lost_us", BigInteger, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    # Ordered as the changes were: Unix microseconds in hexadecimal digits, then random ones.
    _key("entry_id", Text),
    Column("at", Instant, nullable=False),
    # The user that a proxy names, else the token's name.
    Column("by", Text, nullable=False),
    Column("token_id", Text),
    Column("action", Text, nullable=False),
    Column("project", Text),
    Column("run_id", Text),
    # Of the run, before the change.
    Column("name", Text, nullable=False),
    Column("before", JSON(none_as_null=True)),
    Column("after", JSON(none_as_null=True)),
    Index(None, "run_id", "entry_id"),
)

channel = Table(
    "channel",
    metadata,
    # Where alerts go.
    _key("channel_id", Text),
    # The only project whose tokens see it and whose runs its messages may be about; null: all.
    Column("project", Text),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    # What people may read of where it goes: a host, or the recipients.
    Column("target", Text, nullable=False),
    # Addresses and secrets, encrypted with a key that is not in the database.
    Column("sealed", Text, nullable=False),
    Column("made_by", Text, nullable=False),
    Column("made_at", Instant, nullable=False),
)

alert_rule = Table(
    "alert_rule",
    metadata,
    # When an alert is due.
    _key("rule_id", Text),
    Column("project", Text),
    Column("user", Text),
    Column("condition", Text, nullable=False),
    # In the unit of the condition; null: it has none.
    Column("threshold", Float),
    # So long the condition must hold.
    Column("for_us", BigInteger, nullable=False),
    Column("cool_down_us", BigInteger, nullable=False),
    Column("tells_recovery", Boolean, nullable=False),
    Column("channel_id", Text, nullable=False),
    # Of the service's page, as whoever made the rule reached it.
    Column("page_url", Text, nullable=False),
    Column("made_by", Text, nullable=False),
    Column("made_at", Instant, nullable=False),
)

alert_state = Table(
    "alert_state",
    metadata,
    # What a rule knows of a run. Of most rules and runs there is nothing to know, and no row.
    _key("run_id", Text),
    _key("rule_id", Text),
    # Counts changes: of two processes that change it at once, one is refused.
    Column("version", BigInteger, nullable=False),
    # Since when the condition has held; since when it no longer does, after an alert.
    Column("since_at", Instant),
    Column("clear_at", Instant),
    Column("is_raised", Boolean, nullable=False),
    # By cause (or rank, or host): Unix microseconds of the last message about it.
    Column("told", JSON, nullable=False),
    # The verdict that was last known, for changes of it.
    Column("bound", Text),
    # By cause (or rank, or host) that the condition holds by, and that had no alert: Unix microseconds since when.
    Column("held", JSON(none_as_null=True)),
    sqlite_with_rowid=False,
)

alert = Table(
    "alert",
    metadata,
    # Messages that wait to be sent, and the log of those that were. Ordered as ``audit`` is.
    _key("alert_id", Text),
    Column("made_at", Instant, nullable=False),
    Column("channel_id", Text, nullable=False),
    Column("rule_id", Text),
    Column("run_id", Text),
    # Whose tokens see it: the project of the channel.
    Column("project", Text),
    Column("message", JSON, nullable=False),
    Column("attempts", Integer, nullable=False),
    # When it is tried next; null: it was sent, or will not be.
    Column("due_at", Instant),
    # The sender that has it, and until when, so that processes that share a database send it once.
    Column("sender", Text),
    Column("sender_until", Instant),
    Column("sent_at", Instant),
    # Why the last attempt failed.
    Column("error", Text),
    Index(None, "made_at"),
)
Index(
    "ix_alert_due",
    alert.c.due_at,
    sqlite_where=alert.c.due_at.is_not(None),
    postgresql_where=alert.c.due_at.is_not(None),
)

_COMPRESSED = (
    (chunk, "rollups"), (chunk, "body"), (rollup, "body"), (histogram, "body"), (hot, "body"), (stacks, "body"),
    (tuning, "body"),
)  # fmt: skip
for _table, _column in _COMPRESSED:
    # PostgreSQL would try to compress compressed data again.
    _external = DDL(f"ALTER TABLE {_table.name} ALTER COLUMN {_column} SET STORAGE EXTERNAL")  # type: ignore[no-untyped-call]
    event.listen(_table, "after_create", _external.execute_if(dialect="postgresql"))

RUN_TABLES = tuple(
    table
    for table in metadata.sorted_tables
    if "run_id" in table.c and table not in (removed_run, counted_run, counted_loss, audit, alert)
)
"""Tables that hold what was recorded of runs."""
