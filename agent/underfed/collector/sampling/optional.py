"""psutil, or ``None`` where there is none whose binary this Python can load: an agent that is copied into containers of
all kinds brings one for the usual C library (docs/clusters.md). What only psutil tells is then not measured."""

from __future__ import annotations

from typing import Any

NO_PSUTIL = "psutil cannot be loaded here: its binary does not fit this Python or this system"


def _load() -> Any:
    try:
        import psutil
    except ImportError:
        return None
    return psutil


psutil: Any = _load()
