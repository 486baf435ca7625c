"""Columns of samples taken once a second: one row at a time in, equally long columns out."""

from __future__ import annotations

from collections.abc import Mapping

Row = Mapping[str, int | float | bool | None]


class Columns:
    """Rows since the last ``take()``. A quantity that no row has is no column."""

    def __init__(self) -> None:
        self._at_us: list[int] = []
        self._rows: list[Row] = []

    def add(self, at_us: int, row: Row) -> None:
        self._at_us.append(at_us)
        self._rows.append(row)

    def take(self) -> dict[str, list[int | float | bool | None]] | None:
        rows, at_us = self._rows, self._at_us
        self._rows, self._at_us = [], []
        names = dict.fromkeys(name for row in rows for name, value in row.items() if value is not None)
        if not names:
            return None
        return {"at_us": list(at_us), **{name: [row.get(name) for row in rows] for name in names}}
