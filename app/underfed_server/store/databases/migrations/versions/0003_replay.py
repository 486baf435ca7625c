"""What a replay of the same batches at once measured."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("run", sa.Column("replay", sa.JSON(none_as_null=True), nullable=True))
