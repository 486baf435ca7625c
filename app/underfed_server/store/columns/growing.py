"""Rows of a lane to which more are added: what was read of them before stays as it was, and is not copied each time.

Most values are durations of a few seconds, places and small counts, which float32 has exactly: a column of such values
alone is kept as that, in half the room, and read as the float64 that it came as.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from underfed_server.measurements import Columns

GROWTH = 1.25
"""Room in a new block beside the rows that are put into it: each row is copied about four times while a lane grows, and
a ninth of what is kept in memory is room."""

_reserving = threading.Lock()


@dataclass(slots=True)
class _Block:
    """``[column, row]`` of the columns that are kept as float32, and of the others; of both, so many rows are taken.
    Those that are taken are never written again."""

    is_narrow: Sequence[bool]
    """By column."""
    narrow: NDArray[np.float32]
    wide: NDArray[np.float64]
    taken: int


@dataclass(frozen=True, slots=True, eq=False)
class GrowingRows:
    """The first rows of a block that has room for more. Any thread may read it and add to it."""

    _names: tuple[str, ...] = ()
    _rows: int = 0
    _block: _Block | None = None

    def __len__(self) -> int:
        return self._rows

    @property
    def columns(self) -> Columns:
        """Made when it is asked for."""
        block = self._block
        if block is None:
            return {}
        narrow, wide = iter(block.narrow[:, : self._rows].astype(np.float64)), iter(block.wide[:, : self._rows])
        kept = zip(self._names, block.is_narrow, strict=True)
        return {name: next(narrow if is_narrow else wide) for name, is_narrow in kept}

    @property
    def nbytes(self) -> int:
        """With the room."""
        block = self._block
        return 0 if block is None else block.narrow.nbytes + block.wide.nbytes

    def with_rows(self, more: Columns) -> GrowingRows:
        """These rows and ``more`` after them. Both have the same columns in the same order; these stay as they are."""
        values = np.array(tuple(more.values()))
        narrow = values.astype(np.float32)
        fits = ((narrow == values) | np.isnan(values)).all(axis=1)
        if self._block is not None:
            fits &= self._block.is_narrow
        before, after = self._rows, self._rows + values.shape[1]
        block = self._reserved(after, fits.tolist())
        if block is None:
            block = self._copied(after, fits)
        block.narrow[:, before:after] = narrow[fits]
        block.wide[:, before:after] = values[~fits]
        return GrowingRows(tuple(more), after, block)

    def _reserved(self, after: int, is_narrow: Sequence[bool]) -> _Block | None:
        """The block, whose next rows nobody else takes; ``None``: somebody has, it is full, or keeps another column as
        float32."""
        block = self._block
        with _reserving:
            if block is None or block.taken != self._rows or block.is_narrow != is_narrow:
                return None
            if after > block.wide.shape[1]:
                return None
            block.taken = after
            return block

    def _copied(self, after: int, fits: NDArray[np.bool_]) -> _Block:
        """These rows in a new block."""
        room, narrow = int(after * GROWTH), int(np.count_nonzero(fits))
        block = _Block(fits.tolist(), np.empty((narrow, room), np.float32), np.empty((len(fits) - narrow, room)), after)
        if self._rows:
            before = np.array(tuple(self.columns.values()))
            block.narrow[:, : self._rows] = before[fits]
            block.wide[:, : self._rows] = before[~fits]
        return block
