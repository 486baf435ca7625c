"""When a run went on in another process: since the last epoch of one, until the first step of the next."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sqlalchemy import select

from underfed_server.facts.record import Restarts
from underfed_server.store.columns.lanes import steps_lane
from underfed_server.store.databases import tables
from underfed_server.store.reading.details import read_epochs
from underfed_server.store.reading.rows import read_after
from underfed_server.store.reading.tracks import Reader

MOST_EPOCHS = 1_000
"""Of each loader, the newest."""


def restart_spans(reader: Reader, run_id: str, rank: int, loader: str) -> Iterator[tuple[float, float]]:
    """Begin and end, in order of time, on the run's clock. What a process did after its last epoch is part of it: it
    was about to end."""
    tracks = reader.tracks(run_id, rank, steps_lane(loader))
    if len(tracks) < 2:
        return
    stream = tables.stream.c
    statement = select(stream.incarnation, stream.end_us).where(stream.run_id == run_id, stream.rank == rank)
    ended = {row.incarnation: row.end_us for row in reader.connection.execute(statement)}
    epochs = read_epochs(reader.connection, run_id, rank, loader, MOST_EPOCHS)
    ends_us = [each.end_us for each in epochs if each.end_us is not None]
    for before, after in pairwise(tracks):
        rows = read_after(reader, after, -1, 1, ["start_us"])
        end_us = float(rows[1]["start_us"][0]) if rows else float(after.shift_us)
        start_us = float(before.shift_us + ended.get(before.key.incarnation, 0))
        if end_us > start_us:
            yield max((float(each) for each in ends_us if each <= start_us), default=start_us), end_us


def read_restarts(reader: Reader, run_id: str, rank: int, loader: str) -> Restarts:
    lasted = [end_us - start_us for start_us, end_us in restart_spans(reader, run_id, rank, loader)]
    return Restarts(len(lasted), sum(lasted))
