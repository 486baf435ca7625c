"""Lives of workers, places where data lie, what launched a run, and the sampler's share of an epoch's start."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("run", sa.Column("launcher", sa.Text(), nullable=True))
    op.add_column("run", sa.Column("restart_count", sa.BigInteger(), nullable=True))
    op.add_column("epoch", sa.Column("sampler_us", sa.BigInteger(), nullable=True))
    op.create_table(
        "storage",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("incarnation", sa.BigInteger(), nullable=False),
        sa.Column("loader", sa.Text(), nullable=False),
        sa.Column("mount", sa.Text(), nullable=False),
        sa.Column("file_system", sa.Text(), nullable=True),
        sa.Column("device", sa.Text(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("files_seen", sa.BigInteger(), nullable=False),
        sa.Column("example", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", "rank", "incarnation", "loader", "mount", name=op.f("pk_storage")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "worker_life",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("incarnation", sa.BigInteger(), nullable=False),
        sa.Column("loader", sa.Text(), nullable=False),
        sa.Column("iterator_index", sa.BigInteger(), nullable=False),
        sa.Column("worker", sa.BigInteger(), nullable=False),
        sa.Column("epoch_index", sa.BigInteger(), nullable=True),
        sa.Column("pid", sa.BigInteger(), nullable=True),
        sa.Column("start_us", sa.BigInteger(), nullable=True),
        sa.Column("end_us", sa.BigInteger(), nullable=True),
        sa.Column("ended", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint(
            "run_id", "rank", "incarnation", "loader", "iterator_index", "worker", name=op.f("pk_worker_life")
        ),
        sqlite_with_rowid=False,
    )
