"""The environment of processes that a test starts."""

from __future__ import annotations

import os


def clean_environment(**variables: str) -> dict[str, str]:
    """That of this process without any setting of Underfed, and with ``variables``."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("UNDERFED_")}
    return kept | variables
