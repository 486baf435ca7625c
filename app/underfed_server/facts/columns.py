"""What several readers take from a column of samples."""

from __future__ import annotations

import numpy as np

from underfed_server.measurements import Column


def newest(column: Column) -> int | None:
    """The last that was measured; ``None``: nothing was."""
    known = column[np.isfinite(column)]
    return int(known[-1]) if len(known) else None
