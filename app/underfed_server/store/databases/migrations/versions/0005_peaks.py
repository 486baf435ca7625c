"""The most that the disks and networks of a host moved in a second, as a run saw it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

RATES = ("disk_read", "disk_written", "network_received", "network_sent")


def upgrade() -> None:
    op.create_table(
        "peak",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        *(sa.Column(f"{rate}_bytes_per_s", sa.Float(), nullable=True) for rate in RATES),
        sa.PrimaryKeyConstraint("run_id", "rank", name=op.f("pk_peak")),
        sqlite_with_rowid=False,
    )
