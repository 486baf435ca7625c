"""A run has what a step loses to copies, for the list, and the largest waits over its ranks, for answers to agents."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "3"
down_revision = "2"


def upgrade() -> None:
    with op.batch_alter_table("run") as batch:
        batch.add_column(sa.Column("copy_fraction", sa.Float))
        batch.add_column(sa.Column("max_data_wait_us", sa.BigInteger))
        batch.add_column(sa.Column("max_data_wait_p95_us", sa.BigInteger))
        batch.add_column(sa.Column("max_queue_empty_fraction", sa.Float))
