"""Reads roll-ups of several chunks, and histograms, from one level of the ladder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlalchemy import select

from underfed_server.store import tables
from underfed_server.store.histograms import BINS, Bins, add_to
from underfed_server.store.ladder import Rollup
from underfed_server.store.records import nodes_from_bytes
from underfed_server.store.tail import belongs_to
from underfed_server.store.tracks import Reader, Track


def read_nodes(reader: Reader, track: Track, level: int, first: int, last: int, names: Sequence[str]) -> Rollup | None:
    """``first … last`` of ``level``, a bucket each, with the measures ``names``; ``None``: there is none."""
    rollup = tables.rollup.c
    statement = select(rollup.body).where(belongs_to(tables.rollup, track.key), rollup.lane == track.lane)
    statement = statement.where(rollup.level == level, rollup.ordinal.between(first, last)).order_by(rollup.ordinal)
    bodies = reader.connection.execute(statement).scalars().all()
    return nodes_from_bytes(track.lane, bodies, names) if bodies else None


def read_histograms(
    reader: Reader, track: Track, level: int, first: int, last: int, measures: Sequence[str]
) -> dict[str, Bins]:
    """By measure, ``first … last`` of ``level``, a row each; one of zeros where nothing was counted."""
    return {name: _read_histogram(reader, track, level, first, last, name) for name in measures}


def _read_histogram(reader: Reader, track: Track, level: int, first: int, last: int, measure: str) -> Bins:
    histogram = tables.histogram.c
    statement = select(histogram.ordinal, histogram.body).where(
        belongs_to(tables.histogram, track.key),
        histogram.lane == track.lane,
        histogram.measure == measure,
        histogram.level == level,
        histogram.ordinal.between(first, last),
    )
    bins = np.zeros((last - first + 1, BINS), np.uint32)
    for ordinal, body in reader.connection.execute(statement):
        add_to(bins[ordinal - first], body)
    return bins
