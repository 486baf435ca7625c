"""What a process that a test starts inherits of this one's environment."""

from __future__ import annotations

import os


def clean_environment(**variables: str) -> dict[str, str]:
    """This process's without any setting of Underfed, and ``variables``."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("UNDERFED_")}
    return kept | variables
