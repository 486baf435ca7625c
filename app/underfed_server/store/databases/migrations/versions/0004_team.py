"""What a team needs: tokens with scopes, runs put away or deleted, projects with a retention, several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import sqlalchemy as sa
from alembic import op

from underfed_server.store.databases.migrations import ladder_0004 as ladder

revision = "0004"
down_revision = "0003"

ALREADY_COMPRESSED = {"chunk": ("tier", "body"), "rollup": ("body",), "histogram": ("body",), "hot": ("body",)}
KEY = ("run_id", "rank", "incarnation", "lane")


def upgrade() -> None:
    _runs()
    _chunks()
    _histograms()
    _ladders()
    _tokens()
    op.create_table(
        "project",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("retain_us", sa.BigInteger(), nullable=True),
        sa.Column("max_bytes", sa.BigInteger(), nullable=True),
        sa.Column("precision_bits", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("project", name=op.f("pk_project")),
    )
    if op.get_bind().dialect.name == "postgresql":
        for table, columns in ALREADY_COMPRESSED.items():
            for column in columns:
                op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL")


def _runs() -> None:
    for name, kind in (
        ("archived_at", sa.BigInteger()),
        ("deleted_at", sa.BigInteger()),
        ("judge", sa.Text()),
        ("judge_until", sa.BigInteger()),
    ):
        op.add_column("run", sa.Column(name, kind, nullable=True))
    op.create_index("ix_run_project", "run", ["project"])
    op.add_column("diagnosis", sa.Column("changed_at", sa.BigInteger(), nullable=True))
    op.add_column("rank", sa.Column("gpu_name", sa.Text(), nullable=True))
    op.add_column("loader", sa.Column("num_workers", sa.Integer(), nullable=True))
    _searched()
    op.create_index("ix_rank_run_id_hostname_gpu_name", "rank", ["run_id", "hostname", "gpu_name"])


def _searched() -> None:
    """What stood only within JSON, in columns."""
    connection = op.get_bind()
    rank = sa.table(
        "rank", sa.column("run_id"), sa.column("rank"), sa.column("devices", sa.JSON), sa.column("gpu_name")
    )
    for row in connection.execute(sa.select(rank)).all():
        if row.devices:
            same = (rank.c.run_id == row.run_id) & (rank.c.rank == row.rank)
            connection.execute(sa.update(rank).where(same).values(gpu_name=row.devices[0]["name"]))
    loader = sa.table("loader", *map(sa.column, ("run_id", "loader", "num_workers")), sa.column("info", sa.JSON))
    for row in connection.execute(sa.select(loader)).all():
        workers = row.info["settings"].get("num_workers")
        if type(workers) is int and abs(workers) < 2**31:
            same = (loader.c.run_id == row.run_id) & (loader.c.loader == row.loader)
            connection.execute(sa.update(loader).where(same).values(num_workers=workers))


def _chunks() -> None:
    for name in ("hot_rows", "hot_windows"):
        op.add_column("stream", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0"))
    op.execute(
        "UPDATE stream SET "
        "hot_rows = (SELECT coalesce(sum(hot.rows), 0) FROM hot WHERE hot.run_id = stream.run_id "
        "AND hot.rank = stream.rank AND hot.incarnation = stream.incarnation), "
        "hot_windows = (SELECT count(*) FROM hot WHERE hot.run_id = stream.run_id "
        "AND hot.rank = stream.rank AND hot.incarnation = stream.incarnation)"
    )
    waits = sa.text("hot_windows > 0")
    op.create_index("ix_stream_hot", "stream", ["run_id"], sqlite_where=waits, postgresql_where=waits)
    op.add_column("track", sa.Column("chunk_bytes", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("track", sa.Column("dropped_chunks", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("track", sa.Column("dropped_at", sa.BigInteger(), nullable=True))
    op.add_column("track", sa.Column("ladder_bytes", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("track", sa.Column("precision_bits", sa.Integer(), nullable=True))
    op.execute(
        "UPDATE track SET chunk_bytes = (SELECT coalesce(sum(length(chunk.body)), 0) FROM chunk "
        "WHERE chunk.run_id = track.run_id AND chunk.rank = track.rank "
        "AND chunk.incarnation = track.incarnation AND chunk.lane = track.lane)"
    )


def _histograms() -> None:
    op.create_table(
        "histogram",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("incarnation", sa.BigInteger(), nullable=False),
        sa.Column("lane", sa.Text(), nullable=False),
        sa.Column("measure", sa.Text(), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint(
            "run_id", "rank", "incarnation", "lane", "measure", "level", "ordinal", name=op.f("pk_histogram")
        ),
        sqlite_with_rowid=False,
    )


def _ladders() -> None:
    """Tiers and roll-ups have another form from here on, with histograms beside them: all are made anew from rows."""
    connection = op.get_bind()
    connection.execute(sa.text("DELETE FROM rollup"))
    tracks = connection.execute(sa.text(f"SELECT {', '.join(KEY)} FROM track WHERE chunks > 0")).mappings().all()
    for track in map(dict, tracks):
        above = 0
        counters: dict[str, dict[int, Any]] = {}
        for ordinal, before, columns in _chunks_of(connection, track):
            tier = ladder.tier_of(_kind(track), columns, before)
            above += _put_chunk(connection, track, ordinal, tier, columns, counters)
        connection.execute(_where("UPDATE track SET ladder_bytes = :bytes"), {**track, "bytes": above})


def _where(statement: str) -> sa.TextClause:
    return sa.text(f"{statement} WHERE {' AND '.join(f'{name} = :{name}' for name in KEY)}")


def _chunks_of(connection: sa.Connection, track: Mapping[str, Any]) -> Iterator[tuple[int, int, ladder.Columns]]:
    """Of each its number, the rows before it, and its columns."""
    ordinals = connection.execute(_where("SELECT ordinal, body FROM chunk"), track)
    before = 0
    for ordinal, body in sorted((ordinal, body) for ordinal, body in ordinals):
        columns = ladder.rows_of(_kind(track), body)
        yield ordinal, before, columns
        before += ladder.length(columns)


def _kind(track: Mapping[str, Any]) -> str:
    return str(track["lane"]).partition(":")[0]


def _put_chunk(
    connection: sa.Connection,
    track: Mapping[str, Any],
    ordinal: int,
    tier: ladder.Matrix,
    columns: ladder.Columns,
    counters: dict[str, dict[int, Any]],
) -> int:
    """``counters``: what waits on each level for its right half, as digits of a binary counter. Returns bytes."""
    body = ladder.tier_to_bytes(tier)
    update = _where("UPDATE chunk SET tier = :tier").text + " AND ordinal = :ordinal"
    connection.execute(sa.text(update), {**track, "ordinal": ordinal, "tier": body})
    written = len(body)
    for level, place, node in _carried(counters.setdefault("", {}), ordinal, ladder.total(tier), ladder.merged):
        if level:
            written += _insert(connection, "rollup", track, level, place, node.tobytes())
    for name in ladder.BINNED.get(_kind(track), ()):
        if np.isfinite(columns[name]).any():
            counted = ladder.counts_of(columns[name])
            for level, place, counts in _carried(counters.setdefault(name, {}), ordinal, counted, np.add):
                body = ladder.counts_to_bytes(counts)
                written += _insert(connection, "histogram", track, level, place, body, measure=name)
    return written


def _carried(
    waiting: dict[int, Any], ordinal: int, node: Any, merged: Callable[[Any, Any], Any]
) -> Iterator[tuple[int, int, Any]]:
    yield 0, ordinal, node
    level = 0
    while ordinal % 2:
        left = waiting.pop(level, None)
        if left is not None:
            node = merged(left, node)
        level, ordinal = level + 1, ordinal // 2
        yield level, ordinal, node
    waiting[level] = node


def _insert(
    connection: sa.Connection, table: str, track: Mapping[str, Any], level: int, ordinal: int, body: bytes, **more: str
) -> int:
    row = {**track, "level": level, "ordinal": ordinal, "body": body, **more}
    columns, values = ", ".join(row), ", ".join(f":{name}" for name in row)
    connection.execute(sa.text(f"INSERT INTO {table} ({columns}) VALUES ({values})"), row)
    return len(body)


def _tokens() -> None:
    """A token from before may do everything, as it could; browsers sign in again."""
    connection = op.get_bind()
    kept = connection.execute(sa.text("SELECT digest, made_at FROM token")).all()
    op.drop_table("token")
    op.drop_table("session")
    token = op.create_table(
        "token",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("token_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("project", sa.Text(), nullable=True),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_token")),
    )
    op.create_index("ix_token_token_id", "token", ["token_id"], unique=True)
    op.create_table(
        "session",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("token_id", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_session")),
    )
    for digest, made_at in kept:
        row = {"digest": digest, "token_id": digest.hex()[:8], "name": "first start", "made_at": made_at}
        connection.execute(token.insert(), row | {"scopes": ["ingest", "view", "admin"]})
