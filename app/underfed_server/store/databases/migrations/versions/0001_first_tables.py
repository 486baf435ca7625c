"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "chunk",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("incarnation", sa.BigInteger(), nullable=False),
        sa.Column("lane", sa.Text(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("first_index", sa.BigInteger(), nullable=False),
        sa.Column("first_us", sa.BigInteger(), nullable=False),
        sa.Column("tier", sa.LargeBinary(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "rank", "incarnation", "lane", "ordinal", name=op.f("pk_chunk")),
    )
    with op.batch_alter_table("chunk", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_chunk_run_id_rank_incarnation_lane_first_index"),
            ["run_id", "rank", "incarnation", "lane", "first_index"],
            unique=False,
        )

    op.create_table(
        "diagnosis",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("judged_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_diagnosis")),
    )
    op.create_table(
        "epoch",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("incarnation", sa.BigInteger(), nullable=False),
        sa.Column("loader", sa.Text(), nullable=False),
        sa.Column("epoch_index", sa.BigInteger(), nullable=False),
        sa.Column("start_us", sa.BigInteger(), nullable=False),
        sa.Column("iterator_us", sa.BigInteger(), nullable=True),
        sa.Column("startup_us", sa.BigInteger(), nullable=True),
        sa.Column("first_step_index", sa.BigInteger(), nullable=False),
        sa.Column("steps", sa.BigInteger(), nullable=True),
        sa.Column("end_us", sa.BigInteger(), nullable=True),
        sa.Column("ended", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", "rank", "incarnation", "loader", "epoch_index", name=op.f("pk_epoch")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "hot",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("incarnation", sa.BigInteger(), nullable=False),
        sa.Column("window_index", sa.BigInteger(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("encoding", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "rank", "incarnation", "window_index", name=op.f("pk_hot")),
    )
    op.create_table(
        "loader",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("loader", sa.Text(), nullable=False),
        sa.Column("info", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "loader", name=op.f("pk_loader")),
    )
    op.create_table(
        "rank",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("incarnation", sa.BigInteger(), nullable=False),
        sa.Column("hostname", sa.Text(), nullable=True),
        sa.Column("local_rank", sa.Integer(), nullable=True),
        sa.Column("host", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("devices", sa.JSON(), nullable=False),
        sa.Column("not_measured", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "rank", name=op.f("pk_rank")),
    )
    op.create_table(
        "rollup",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("incarnation", sa.BigInteger(), nullable=False),
        sa.Column("lane", sa.Text(), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "rank", "incarnation", "lane", "level", "ordinal", name=op.f("pk_rollup")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "run",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("edited_name", sa.Text(), nullable=True),
        sa.Column("edited_tags", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("notes", sa.Text(), nullable=False),
        sa.Column("command", sa.JSON(), nullable=False),
        sa.Column("script", sa.Text(), nullable=True),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("overrides", sa.JSON(), nullable=False),
        sa.Column("advice_of", sa.Text(), nullable=True),
        sa.Column("agent_version", sa.Text(), nullable=True),
        sa.Column("python_version", sa.Text(), nullable=True),
        sa.Column("torch_version", sa.Text(), nullable=True),
        sa.Column("started_by", sa.Text(), nullable=True),
        sa.Column("world_size", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_at", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("exit_reason", sa.Text(), nullable=True),
        sa.Column("open_ranks", sa.Integer(), nullable=False),
        sa.Column("crashed_ranks", sa.Integer(), nullable=False),
        sa.Column("judged_at", sa.BigInteger(), nullable=True),
        sa.Column("judged_status", sa.Text(), nullable=True),
        sa.Column("loader", sa.Text(), nullable=True),
        sa.Column("bound", sa.Text(), nullable=False),
        sa.Column("level", sa.Text(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=True),
        sa.Column("data_stall_fraction", sa.Float(), nullable=True),
        sa.Column("steps_per_s", sa.Float(), nullable=True),
        sa.Column("samples_per_s", sa.Float(), nullable=True),
        sa.Column("step_us", sa.BigInteger(), nullable=True),
        sa.Column("hours_lost", sa.Float(), nullable=True),
        sa.Column("gpu_hours_lost", sa.Float(), nullable=True),
        sa.Column("hours_used", sa.Float(), nullable=True),
        sa.Column("predicted_speedup", sa.Float(), nullable=True),
        sa.Column("best_advice", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("observed_speedup", sa.Float(), nullable=True),
        sa.Column("spark", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run")),
    )
    with op.batch_alter_table("run", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_run_changed_at"), ["changed_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_run_job"), ["job"], unique=False)
        batch_op.create_index(batch_op.f("ix_run_started_at"), ["started_at"], unique=False)

    op.create_table(
        "session",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_session")),
    )
    op.create_table(
        "stream",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("incarnation", sa.BigInteger(), nullable=False),
        sa.Column("last_window_index", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("end_us", sa.BigInteger(), nullable=False),
        sa.Column("has_run", sa.Boolean(), nullable=False),
        sa.Column("end_status", sa.Text(), nullable=True),
        sa.Column("exit_reason", sa.Text(), nullable=True),
        sa.Column("exit_code", sa.BigInteger(), nullable=True),
        sa.Column("dropped_steps", sa.BigInteger(), nullable=False),
        sa.Column("dropped_batches", sa.BigInteger(), nullable=False),
        sa.Column("dropped_windows", sa.BigInteger(), nullable=False),
        sa.Column("rejected_windows", sa.BigInteger(), nullable=False),
        sa.Column("agent_errors", sa.BigInteger(), nullable=False),
        sa.Column("overhead_us_total", sa.Float(), nullable=False),
        sa.Column("overhead_steps", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "rank", "incarnation", name=op.f("pk_stream")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tag",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "key", name=op.f("pk_tag")),
        sqlite_with_rowid=False,
    )
    with op.batch_alter_table("tag", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_tag_key_value"), ["key", "value"], unique=False)

    op.create_table(
        "token",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_token")),
    )
    op.create_table(
        "track",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("incarnation", sa.BigInteger(), nullable=False),
        sa.Column("lane", sa.Text(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("next_index", sa.BigInteger(), nullable=False),
        sa.Column("step_us_total", sa.BigInteger(), nullable=False),
        sa.Column("data_wait_us_total", sa.BigInteger(), nullable=False),
        sa.Column("chunks", sa.Integer(), nullable=False),
        sa.Column("chunk_rows", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "rank", "incarnation", "lane", name=op.f("pk_track")),
        sqlite_with_rowid=False,
    )
