"""``/runs/{run_id}/timeline``: the newest steps and the batches behind them, one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from fastapi import APIRouter

from underfed_server.api.dependencies import LoaderQuery, RankQuery, StoreDep, choose
from underfed_server.api.required_scope import needs
from underfed_server.measurements import BatchRows, StepRows
from underfed_server.model import Run, Timeline, TimelineBatch, TimelineStep
from underfed_server.store.store import Store

router = APIRouter(tags=["runs"])

SPAN_US = 6_000_000
"""As many steps as fit on a page with every batch visible."""

FEWEST_STEPS, MOST_STEPS = 8, 240
"""Slow steps are shown over a longer time, quick ones over a shorter."""

MOST_BATCHES = 2_000


@router.get("/runs/{run_id}/timeline", **needs("view"))
def timeline(
    run_id: str,
    store: StoreDep,
    rank: RankQuery = None,
    loader: LoaderQuery = None,
) -> Timeline:
    """About the last six seconds: 8 to 240 steps."""
    run = store.run(run_id)
    with store.reading() as reader:
        chosen, name = choose(reader, run_id, rank, loader)
    steps = store.steps(run_id, chosen, name, MOST_STEPS) if name is not None else None
    if name is None or steps is None or not len(steps):
        return Timeline(
            run_id=run_id, rank=chosen, loader=name, from_us=0, to_us=0, batches=[], steps=[],
            missing=_missing(store, run),
        )  # fmt: skip
    # An open step is shown as far as its wait.
    ends = steps.start_us + np.where(np.isnan(steps.step_us), steps.data_wait_us, steps.step_us)
    first = max(0, min(int(np.searchsorted(ends, ends[-1] - SPAN_US)), len(steps) - FEWEST_STEPS))
    from_us, to_us = float(steps.start_us[first]), float(ends[-1])
    return Timeline(
        run_id=run_id,
        rank=chosen,
        loader=name,
        from_us=int(from_us),
        to_us=int(to_us),
        batches=_batches(store.batches(run_id, chosen, name, MOST_BATCHES), from_us, to_us),
        steps=_steps(steps, first),
        missing=None,
    )


def _missing(store: Store, run: Run) -> str:
    deleted_at = store.rows_deleted_at(run.run_id)
    if deleted_at is not None:
        return f"the single steps were deleted on {deleted_at:%Y-%m-%d} by retention"
    return run.no_loader or "no step was recorded yet"


def _steps(steps: StepRows, first: int) -> list[TimelineStep]:
    return [TimelineStep(**row) for row in _records(steps, TimelineStep.model_fields, np.arange(first, len(steps)))]


def _batches(batches: BatchRows, from_us: float, to_us: float) -> list[TimelineBatch]:
    """Batches that were being loaded or waited to be used at some moment of the span."""
    until = np.fmax(batches.start_us + batches.load_us, batches.received_us)
    shown = np.flatnonzero((until >= from_us) & (batches.start_us <= to_us))
    return [TimelineBatch(**row) for row in _records(batches, TimelineBatch.model_fields, shown)]


def _records(rows: StepRows | BatchRows, names: Iterable[str], chosen: Any) -> list[dict[str, Any]]:
    columns = [[_whole(value) for value in getattr(rows, name)[chosen].tolist()] for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _whole(value: float) -> int | None:
    return None if np.isnan(value) else int(value)
