"""Alert rules know since when each cause, rank or host has been what a condition holds by."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def upgrade() -> None:
    with op.batch_alter_table("alert_state") as batch:
        batch.add_column(sa.Column("held", sa.JSON))
