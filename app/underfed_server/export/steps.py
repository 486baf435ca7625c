"""The steps of a run, each beside the batch that it was given, some thousand at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from underfed_server.measurements import RECORDED, Column, Columns
from underfed_server.model import Run
from underfed_server.store.columns.lanes import batches_lane, columns_of, joined, length, steps_lane
from underfed_server.store.reading.rows import read_after
from underfed_server.store.store import Store

STRETCH = 4_096
"""Rows read at once: about those of a chunk, so that most chunks are read once."""

MOST_PENDING = 16_384
"""Most kept batches that no step has taken yet. A loader prefetches fewer; without workers only some are measured."""

STEP_COLUMNS, BATCH_COLUMNS = tuple(RECORDED["steps"]), tuple(RECORDED["batches"])
OF_BATCHES = tuple(name for name in BATCH_COLUMNS if name not in ("epoch_index", "batch_index"))


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Consecutive steps of one process with one loader."""

    rank: int
    incarnation: int
    loader: str
    steps: Columns
    """As :data:`STEP_COLUMNS`: instants on the run's clock, steps counted through all incarnations."""
    batches: Columns
    """As :data:`OF_BATCHES`, row by row beside ``steps``; NaN throughout where the step's batch was not measured."""

    def __len__(self) -> int:
        return length(self.steps)


def stretches(store: Store, run: Run) -> Iterator[Stretch]:
    """By rank, loader and incarnation, in order. Steps that retention deleted are not among them.

    Each is read by itself, so that no transaction lasts for as long as a client takes to read an answer.
    """
    for rank in run.ranks:
        for loader in run.loaders:
            with store.reading() as reader:
                tracks = reader.tracks(run.run_id, rank, steps_lane(loader.loader))
            for track in tracks:
                yield from _of_track(store, run, rank, loader.loader, track.key.incarnation)


def _of_track(store: Store, run: Run, rank: int, loader: str, incarnation: int) -> Iterator[Stretch]:
    pending = _Batches(store, run, rank, loader, incarnation)
    rows = _Rows(store, run, rank, steps_lane(loader), incarnation)
    while (steps := rows.read()) is not None:
        taken = pending.of(steps)
        yield Stretch(rank, incarnation, loader, {name: steps[name] for name in STEP_COLUMNS}, taken)


class _Rows:
    """Reads a track from its first row on. Each stretch of it holds a row: whoever waits for it waits for one read."""

    def __init__(self, store: Store, run: Run, rank: int, lane: str, incarnation: int) -> None:
        self._store = store
        self._place = (run.run_id, rank, lane)
        self._incarnation = incarnation
        self._after = -1.0

    def read(self) -> Columns | None:
        """``None``: no more are kept."""
        with self._store.reading() as reader:
            tracks = reader.tracks(*self._place)
            track = next((track for track in tracks if track.key.incarnation == self._incarnation), None)
            found = track and read_after(reader, track, self._after, STRETCH, columns_of(track.lane))
        if not found:
            return None
        self._after, columns = found
        return columns


class _Batches:
    """The batches of one process and loader, read as far as its steps have come."""

    def __init__(self, store: Store, run: Run, rank: int, loader: str, incarnation: int) -> None:
        self._rows = _Rows(store, run, rank, batches_lane(loader), incarnation)
        self._pending: Columns = {name: np.empty(0) for name in BATCH_COLUMNS}

    def of(self, steps: Columns) -> Columns:
        """Row by row the batch that the step was given; batches that no step has taken yet are kept for later ones."""
        wanted = _keys(steps)
        self._read_until(float(wanted.max()))
        known = _keys(self._pending)
        order = np.argsort(known, kind="stable")
        place = np.searchsorted(known[order], wanted)
        place = np.minimum(place, max(0, len(known) - 1))
        found = known[order][place] == wanted if len(known) else np.zeros(len(wanted), dtype=bool)
        row = order[place[found]]
        taken = {name: _spread(self._pending[name][row], found) for name in OF_BATCHES}
        rest = np.setdiff1d(np.arange(len(known)), row)[-MOST_PENDING:]
        self._pending = {name: column[rest] for name, column in self._pending.items()}
        return taken

    def _read_until(self, key: float) -> None:
        """A step may name a batch that never comes: then all are read, and only the newest kept."""
        while not (len(self._pending["load_us"]) and _keys(self._pending).max() >= key):
            found = self._rows.read()
            if found is None:
                return
            pending = joined([self._pending, {name: found[name] for name in BATCH_COLUMNS}])
            self._pending = {name: column[-MOST_PENDING - STRETCH :] for name, column in pending.items()}


def _keys(columns: Columns) -> Column:
    """Epoch and batch as one number: exact for 2^23 epochs of 2^30 batches."""
    keys: Column = columns["epoch_index"] * 2.0**30 + columns["batch_index"]
    return keys


def _spread(values: Column, places: Column) -> Column:
    column = np.full(len(places), np.nan)
    column[places] = values
    return column
