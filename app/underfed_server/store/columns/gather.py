"""From windows to lanes: each column is built from many windows at once, since one per window costs twice as much."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from msgspec.structs import astuple
from numpy.typing import NDArray

from underfed_server.ingest.wire import Part, Window, WindowRows
from underfed_server.measurements import RECORDED, Column, Columns, or_zero
from underfed_server.store.columns.lanes import (
    HOST,
    PROCESS,
    batches_lane,
    gpu_lane,
    kind_of,
    steps_lane,
    worker_lane,
)

Key = TypeVar("Key", bound=Hashable)


def lanes_of(windows: Iterable[Window | WindowRows]) -> dict[str, Columns]:
    """Every lane that has a row in these consecutive windows of one stream."""
    return lanes_of_streams({None: windows})[None]


def lanes_of_streams(streams: Mapping[Key, Iterable[Window | WindowRows]]) -> dict[Key, dict[str, Columns]]:
    """Likewise of several: those of one run have the same lanes, whose columns are built together."""
    gathered: dict[tuple[Key, str], list[Part]] = defaultdict(list)
    for key, windows in streams.items():
        for window in windows:
            for lane, part, _rows in _parts(window):
                gathered[key, lane].append(part)
    alike: dict[str, list[tuple[Key, str]]] = defaultdict(list)
    for place in gathered:
        alike[kind_of(place[1])].append(place)
    columns = {
        place: each
        for kind, places in alike.items()
        for place, each in zip(places, _columns_of(kind, [gathered[place] for place in places]), strict=True)
    }
    found: dict[Key, dict[str, Columns]] = {key: {} for key in streams}
    for key, lane in gathered:
        found[key][lane] = columns[key, lane]
    return found


def row_counts(window: Window) -> dict[str, int]:
    """Rows that the window adds, by lane."""
    counted: dict[str, int] = {}
    for lane, _part, rows in _parts(window):
        counted[lane] = counted.get(lane, 0) + rows
    return counted


def _parts(window: Window | WindowRows) -> Iterator[tuple[str, Part, int]]:
    """Each part that has rows, with its lane."""
    for steps in window.steps:
        if steps.step_us:
            yield steps_lane(steps.loader), steps, len(steps.step_us)
    for batches in window.batches:
        if batches.load_us:
            yield batches_lane(batches.loader), batches, len(batches.load_us)
    if window.process is not None and window.process.at_us:
        yield PROCESS, window.process, len(window.process.at_us)
    if window.host is not None and window.host.at_us:
        yield HOST, window.host, len(window.host.at_us)
    for worker in window.worker_samples:
        if worker.at_us:
            yield worker_lane(worker.loader, worker.worker), worker, len(worker.at_us)
    for gpu in window.gpus:
        if gpu.at_us:
            yield gpu_lane(gpu.gpu_index), gpu, len(gpu.at_us)


def _columns_of(kind: str, parts: Sequence[Sequence[Part]]) -> Iterator[Columns]:
    """Of lanes of one kind, whose columns are built together: a rank has one of each of its workers, with two rows a
    window.
    """
    values = _by_field([part for of_lane in parts for part in of_lane])
    rows = np.array(list(map(len, values[_COUNTED_BY.get(kind, "at_us")])), dtype=np.intp)
    derived = _derived(values, rows) if kind == "steps" else {}
    columns = {name: derived[name] if name in derived else _column(values[name], rows) for name in RECORDED[kind]}
    if len(parts) == 1:
        yield columns
        return
    ends = np.cumsum(rows)[np.cumsum(list(map(len, parts))) - 1].tolist()
    for begin, end in zip([0, *ends], ends, strict=False):
        yield {name: column[begin:end] for name, column in columns.items()}


_COUNTED_BY = {"steps": "step_us", "batches": "load_us"}
"""By kind of lane, a column that every part has."""

Values = Mapping[str, Sequence[Any]]
"""Of each part its value, by field."""


def _by_field(parts: Sequence[Part]) -> Values:
    """All fields of a part at once: to ask for each takes longer than to convert what is in it."""
    return dict(zip(parts[0].__struct_fields__, zip(*map(astuple, parts), strict=True), strict=True))


def _derived(values: Values, rows: NDArray[np.intp]) -> Columns:
    """Columns of steps for which windows hold only the first value."""
    starts = np.cumsum(rows) - rows
    counted = np.arange(np.sum(rows)) - np.repeat(starts, rows)
    step_us = _column(values["step_us"], rows)
    # Only the last step of a part may be open: what lies before a step in its part is known.
    known_us = or_zero(step_us)
    before = np.cumsum(known_us) - known_us
    batch_index = _column(values["batch_index"], rows)
    return {
        "step_index": _column(values["first_step_index"], rows) + counted,
        "batch_index": np.where(
            np.isnan(batch_index), _column(values["first_batch_index"], rows) + counted, batch_index
        ),
        "start_us": _column(values["start_us"], rows) + before - np.repeat(before[starts], rows),
    }


def _column(columns: Sequence[Any], rows: NDArray[np.intp]) -> Column:
    """The parts' values one after the other; a scalar of a part is repeated for each of its rows."""
    lacking = columns.count(None)
    if lacking == len(columns):
        return np.full(int(rows.sum()), np.nan)
    if len(columns) == 1 and isinstance(columns[0], list):
        return np.array(columns[0], dtype=np.float64)
    if not any(isinstance(column, list) for column in columns):
        return np.repeat(np.array(columns, dtype=np.float64), rows)
    if lacking:
        parts = zip(columns, rows.tolist(), strict=True)
        columns = [[None] * count if column is None else column for column, count in parts]
    return np.fromiter(chain.from_iterable(columns), np.float64, int(rows.sum()))
