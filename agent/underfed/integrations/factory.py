"""What Lightning asks by entry point whenever a Trainer is made: nothing, unless this process is recorded."""

from __future__ import annotations

import sys
from typing import Any


def callbacks() -> list[Any]:
    """Raises nothing: without us the Trainer would be made."""
    if "underfed.trainer.control" not in sys.modules:
        return []
    try:
        from underfed.integrations.lightning import UnderfedCallback
        from underfed.integrations.scalars import is_recording

        return [UnderfedCallback()] if is_recording() else []
    except Exception as error:
        from underfed.exchange.guard import Guard

        Guard().failed("Lightning's callback", error)
        return []
