"""Since when a rank has used a loader with its present settings: each time that it is started it may have others, and a
program that tunes itself switches while it trains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import bindparam, select

from underfed_server.model import Setting
from underfed_server.store.columns.lanes import steps_lane
from underfed_server.store.databases import tables
from underfed_server.store.reading.tracks import Reader

_known = tables.loader_settings.c
_OF_RANK = select(_known.incarnation, _known.settings).where(
    _known.run_id == bindparam("run_id"),
    _known.rank == bindparam("rank"),
    _known.loader == bindparam("loader"),
)


@dataclass(frozen=True, slots=True)
class ChangedSettings:
    step_index: int
    """Of the first step with the present ones."""
    start_us: int
    """When the process started that has it, or switched to it, on the run's clock."""
    before: Mapping[str, Setting]
    since: Mapping[str, Setting]
    is_live: bool = False
    """The process switched to them while it trained: an epoch that began before goes on with them."""

    def __str__(self) -> str:
        """``num_workers was 1 before and is 3 since``."""
        names = sorted(name for name in {*self.before, *self.since} if self.before.get(name) != self.since.get(name))
        changes = (f"{name} was {self.before.get(name)} before and is {self.since.get(name)} since" for name in names)
        return ", ".join(changes)


def read_changed_settings(reader: Reader, run_id: str, rank: int, loader: str) -> ChangedSettings | None:
    """``None``: they have been the same in all processes that recorded a step, or are not known."""
    tracks = reader.tracks(run_id, rank, steps_lane(loader))
    if len(tracks) < 2:
        return None
    place = {"run_id": run_id, "rank": rank, "loader": loader}
    known = {row.incarnation: row.settings for row in reader.connection.execute(_OF_RANK, place)}
    first = newest = tracks[-1]
    present = known.get(newest.key.incarnation)
    for track in reversed(tracks):
        settings = known.get(track.key.incarnation)
        if present is not None and settings is not None and settings != present:
            return ChangedSettings(first.shift_index, first.shift_us, settings, present)
        first = track
    return None
