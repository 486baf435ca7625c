"""The small curve beside a run in the list: its data-stall fraction over the last hour."""

from __future__ import annotations

from underfed_server.measurements import STALL
from underfed_server.store.columns.lanes import steps_lane
from underfed_server.store.reading.series import read_series
from underfed_server.store.reading.tracks import Reader
from underfed_server.store.runs.summaries import run_columns, shown_loader

Curve = list[float | None]
"""``None``: no step then."""

POINTS = 40
LAST_HOUR_US = 3600 * 1_000_000


def read_spark(reader: Reader, run_id: str) -> Curve:
    """Oldest first, of the lowest rank and the loader of the verdict; empty before the first step.

    Raises:
        NotFoundError: there is no such run.
    """
    started_at = run_columns(reader.connection, run_id, "started_at")["started_at"]
    loader, ranks = shown_loader(reader.connection, run_id), reader.ranks(run_id)
    if loader is None or not ranks:
        return []
    end_us = reader.end_us(run_id, started_at)
    rollup = read_series(
        reader, run_id, ranks[0], steps_lane(loader),
        names=["step_us", STALL], buckets=POINTS, from_us=end_us - LAST_HOUR_US,
    )  # fmt: skip
    if rollup is None or STALL not in rollup.stats:
        return []
    stall, step = rollup.stats[STALL].sum, rollup.stats["step_us"].sum
    return [round(float(part / whole), 4) if whole > 0 else None for part, whole in zip(stall, step, strict=True)]
