"""Reads roll-ups of several chunks, and histograms, from one level of the ladder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlalchemy import bindparam, select

from underfed_server.store.columns.histograms import BINS, Bins, add_to
from underfed_server.store.columns.ladder import Rollup
from underfed_server.store.columns.records import nodes_from_bytes
from underfed_server.store.databases import tables
from underfed_server.store.reading.tracks import Reader, Track, at_place, place_of

# Built once: building a statement costs more than running it.
_rollup, _histogram = tables.rollup.c, tables.histogram.c
_NODES = (
    select(_rollup.body)
    .where(at_place(tables.rollup), _rollup.level == bindparam("level"))
    .where(_rollup.ordinal.between(bindparam("first"), bindparam("last")))
    .order_by(_rollup.ordinal)
)
_HISTOGRAMS = (
    select(_histogram.ordinal, _histogram.body)
    .where(at_place(tables.histogram), _histogram.measure == bindparam("measure"))
    .where(_histogram.level == bindparam("level"))
    .where(_histogram.ordinal.between(bindparam("first"), bindparam("last")))
)


def read_nodes(reader: Reader, track: Track, level: int, first: int, last: int, names: Sequence[str]) -> Rollup | None:
    """``first … last`` of ``level``, a bucket each, with the measures ``names``; ``None``: there is none."""
    place = place_of(track) | {"level": level, "first": first, "last": last}
    bodies = reader.connection.execute(_NODES, place).scalars().all()
    return nodes_from_bytes(track.lane, bodies, names) if bodies else None


def read_histograms(
    reader: Reader, track: Track, level: int, first: int, last: int, measures: Sequence[str]
) -> dict[str, Bins]:
    """By measure, ``first … last`` of ``level``, a row each; one of zeros where nothing was counted."""
    return {name: _read_histogram(reader, track, level, first, last, name) for name in measures}


def _read_histogram(reader: Reader, track: Track, level: int, first: int, last: int, measure: str) -> Bins:
    place = place_of(track) | {"measure": measure, "level": level, "first": first, "last": last}
    bins = np.zeros((last - first + 1, BINS), np.uint32)
    for ordinal, body in reader.connection.execute(_HISTOGRAMS, place):
        add_to(bins[ordinal - first], body)
    return bins
