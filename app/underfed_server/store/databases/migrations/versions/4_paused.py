"""A run has whether pauses took more of it than waiting did, for the word of its verdict in lists."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "4"
down_revision = "3"


def upgrade() -> None:
    with op.batch_alter_table("run") as batch:
        batch.add_column(sa.Column("is_mostly_paused", sa.Boolean))
