"""Chunks hold some columns as what follows from no other one: an older service would read them as not measured."""

from __future__ import annotations

revision = "5"
down_revision = "4"


def upgrade() -> None:
    """The tables are the same, and so is what older chunks hold."""
