"""What PyTorch computes with on a device."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    for name in ("cuda_version", "hip_version", "cudnn_version"):
        op.add_column("run", sa.Column(name, sa.Text(), nullable=True))
