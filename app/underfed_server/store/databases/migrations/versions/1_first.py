"""The first schema: an empty database is created at the newest revision from ``tables.py``, without running this."""

from __future__ import annotations

revision = "1"
down_revision = None
