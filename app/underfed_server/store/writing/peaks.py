"""The highest rates of a host's disks and networks that runs on it ever recorded."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from sqlalchemy import Connection, func, select

from underfed_server.measurements import RATES
from underfed_server.names import Projects
from underfed_server.store.columns.ladder import Rollup
from underfed_server.store.databases import tables
from underfed_server.store.databases.dialects import put
from underfed_server.store.writing.streams import StreamKey

Peaks = Mapping[str, float]
"""By rate, without rates that were never measured."""


def peaks_of(rollups: Rollup) -> Peaks:
    """Those of a chunk of samples of the host."""
    return {rate: float(np.nanmax(stat.max)) for rate, stat in rollups.stats.items() if rate in RATES}


def note_peaks(connection: Connection, key: StreamKey, seen: Peaks) -> None:
    """The run is locked, so no other process notes any for it."""
    peak = tables.peak.c
    before = select(tables.peak).where(peak.run_id == key.run_id, peak.rank == key.rank)
    known = connection.execute(before).mappings().first()
    highest = dict(seen) if known is None else {rate: _higher(known[rate], seen.get(rate)) for rate in RATES}
    row = dict.fromkeys(RATES) | highest | {"run_id": key.run_id, "rank": key.rank}
    put(connection, tables.peak, row)


def _higher(one: float | None, other: float | None) -> float | None:
    return max((each for each in (one, other) if each is not None), default=None)


def read_peaks(connection: Connection, projects: Projects) -> Mapping[str, Peaks]:
    """By host, over all runs in the store or those of these projects. The newest minutes are missing."""
    run, rank, peak = tables.run.c, tables.rank.c, tables.peak.c
    statement = (
        select(rank.hostname, *(func.max(peak[rate]).label(rate) for rate in RATES))
        .join(tables.peak, (peak.run_id == rank.run_id) & (peak.rank == rank.rank))
        .join(tables.run, run.run_id == rank.run_id)
        .where(run.deleted_at.is_(None), rank.hostname.is_not(None), tables.of_projects(projects))
        .group_by(rank.hostname)
    )
    rows = connection.execute(statement).mappings().all()
    return {row["hostname"]: {rate: row[rate] for rate in RATES if row[rate] is not None} for row in rows}
