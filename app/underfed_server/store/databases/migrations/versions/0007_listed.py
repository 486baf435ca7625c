"""An index of the runs that has in it what the list needs of every one of them."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"

LISTED = [
    "changed_at", "run_id", "deleted_at", "archived_at", "started_at", "last_seen_at", "ended_at", "open_ranks",
    "crashed_ranks", "hours_lost", "hours_used", "gpu_hours_lost", "cause",
]  # fmt: skip


def upgrade() -> None:
    op.drop_index("ix_run_changed_at", "run")
    op.create_index("ix_run_listed", "run", LISTED)
