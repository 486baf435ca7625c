"""What a loop waits for its other loaders meanwhile, in the buckets of one loader's steps.

No step of the one has it: it lies in the steps of the others, which the same thread recorded.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from underfed_server.facts.recorded import spent
from underfed_server.measurements import Column
from underfed_server.store.columns.ladder import Rollup, Stat
from underfed_server.store.columns.lanes import steps_lane
from underfed_server.store.reading.series import read_series
from underfed_server.store.reading.tracks import Reader
from underfed_server.store.runs.diagnoses import read_diagnosis

FINER = 4
"""Buckets of the other loaders for each of the one: theirs begin elsewhere, and their waits are spread over them."""


def read_other_waits(reader: Reader, run_id: str, rank: int, loader: str, steps: Rollup) -> Stat | None:
    """Sums of the waits in each bucket of ``steps``, at most what is left of its steps beside the loader's own waits.

    Extremes of single steps are not known. ``None``: by the last verdict its loop asks no other loader.

    Raises:
        NotFoundError: there is no such run.
    """
    others = _of_its_loop(reader, run_id, loader)
    step, wait = steps.stats.get("step_us"), steps.stats.get("data_wait_us")
    if not others or step is None or wait is None:
        return None
    begin = steps.first_us
    end = np.append(begin[1:], begin[-1] + step.sum[-1])
    taken = sum((_waited(reader, run_id, rank, other, begin, end) for other in others), np.zeros(len(steps)))
    unknown = np.full(len(steps), np.nan)
    return Stat(step.count, np.clip(taken, 0.0, np.maximum(0.0, step.sum - wait.sum)), unknown, unknown)


def _of_its_loop(reader: Reader, run_id: str, loader: str) -> Sequence[str]:
    diagnosis = read_diagnosis(reader.connection, run_id)
    loops = {line.loader: line.loop for line in diagnosis.loaders} if diagnosis else {}
    return [name for name, loop in loops.items() if name != loader and loop == loops.get(loader)]


def _waited(reader: Reader, run_id: str, rank: int, loader: str, begin_us: Column, end_us: Column) -> Column:
    """For ``loader``, between these instants."""
    rollup = read_series(
        reader, run_id, rank, steps_lane(loader), names=["data_wait_us"], buckets=FINER * len(begin_us),
        from_us=float(begin_us[0]), to_us=float(end_us[-1]),
    )  # fmt: skip
    stat = None if rollup is None else rollup.stats.get("data_wait_us")
    if rollup is None or stat is None:
        return np.zeros(len(begin_us))
    from_us, waited_us = rollup.first_us, stat.sum
    until_us = np.where(rollup.rows == 1, from_us + waited_us, np.append(from_us[1:], end_us[-1]))
    until_us = np.maximum(until_us, from_us + waited_us)
    share = np.divide(waited_us, until_us - from_us, out=np.zeros(len(from_us)), where=until_us > from_us)
    return spent(from_us, until_us, share).between(begin_us, end_us)
