"""Some thousand consecutive rows of a track at a time, so that a run of any length is read within bounded memory."""

from __future__ import annotations

from collections.abc import Sequence

from underfed_server.measurements import Columns
from underfed_server.store.columns.lanes import joined, length
from underfed_server.store.reading.tracks import Reader, Track, cut, shifted


def read_stretch(reader: Reader, track: Track, low: int, high: int, names: Sequence[str]) -> Columns | None:
    """The columns ``names`` of the rows ``low … high`` (left out), indices of the track's own, as readers see them.

    ``None``: no row is kept there. Rows keep their index when they go from a window into a chunk: a track that grows
    meanwhile may be read in several transactions.
    """
    parts = []
    if track.chunks:
        ordinals = range(reader.ordinal_at(track, low), reader.ordinal_at(track, high - 1) + 1)
        parts += reader.chunk_rows(track, ordinals, names)
    hot = reader.hot_rows(track)
    if hot is not None:
        parts.append({name: hot[name] for name in parts[0]} if parts else hot)
    if not parts:
        return None
    found = cut(joined(parts), low, high)
    return shifted(track, found) if length(found) else None
