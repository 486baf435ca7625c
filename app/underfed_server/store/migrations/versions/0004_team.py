"""What a team needs: tokens with scopes, runs put away or deleted, projects with a retention, several processes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

ALREADY_COMPRESSED = {"chunk": ("tier", "body"), "rollup": ("body",), "hot": ("body",)}


def upgrade() -> None:
    _runs()
    _chunks()
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
    op.execute(
        "UPDATE track SET chunk_bytes = (SELECT coalesce(sum(length(chunk.body)), 0) FROM chunk "
        "WHERE chunk.run_id = track.run_id AND chunk.rank = track.rank "
        "AND chunk.incarnation = track.incarnation AND chunk.lane = track.lane)"
    )


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
