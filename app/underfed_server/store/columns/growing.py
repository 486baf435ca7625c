"""Rows of a lane to which more are added: what was read of them before stays as it was, and is not copied each time."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from underfed_server.measurements import Columns
from underfed_server.store.columns.lanes import length

GROWTH = 1.25
"""Room in a new block beside the rows that are put into it: each row is copied about four times while a lane grows, and
a ninth of what is kept in memory is room."""

_reserving = threading.Lock()


@dataclass(slots=True)
class _Block:
    """``[column, row]``, of which so many rows are taken. Those that are taken are never written again."""

    values: NDArray[np.float64]
    taken: int


@dataclass(frozen=True, slots=True, eq=False)
class GrowingRows:
    """``columns`` are the first rows of a block that has room for more. Any thread may read it and add to it."""

    columns: Columns = field(default_factory=dict)
    _block: _Block | None = None

    def __len__(self) -> int:
        return length(self.columns) if self.columns else 0

    @property
    def nbytes(self) -> int:
        """With the room."""
        return 0 if self._block is None else self._block.values.nbytes

    def with_rows(self, more: Columns) -> GrowingRows:
        """These rows and ``more`` after them. Both have the same columns in the same order; these stay as they are."""
        before, after = len(self), len(self) + length(more)
        block = self._reserved(before, after)
        if block is None:
            block = _Block(np.empty((len(more), int(after * GROWTH))), after)
            if before:
                block.values[:, :before] = tuple(self.columns.values())
        block.values[:, before:after] = tuple(more.values())
        return GrowingRows({name: block.values[place, :after] for place, name in enumerate(more)}, block)

    def _reserved(self, before: int, after: int) -> _Block | None:
        """The block, whose next rows nobody else takes; ``None``: somebody has, or it is full."""
        block = self._block
        with _reserving:
            if block is None or block.taken != before or after > block.values.shape[1]:
                return None
            block.taken = after
            return block
