"""The runs of one job over time, each with what was set otherwise than in the one before."""

from __future__ import annotations

from underfed_server.comparison.differences import settings_of
from underfed_server.comparison.side import Side
from underfed_server.errors import NotFoundError
from underfed_server.model import ChangedSetting, HistoryRun, RunHistory
from underfed_server.store.store import Store

NOT_LISTED = frozenset({"job", "command"})
"""The same in all runs of a job, but for arguments that its configuration shows better."""


def read_run_history(store: Store, run_id: str, most: int) -> RunHistory:
    """Raises:
    NotFoundError: there is no such run.
    """
    asked = store.summary(run_id)
    sides = [side for each in store.job_runs(run_id, most) if (side := _side(store, each)) is not None]
    before = [None, *sides[:-1]]
    return RunHistory(
        job=asked.job,
        project=asked.project,
        runs=[_try(side, earlier) for side, earlier in zip(sides, before, strict=True)],
    )


def _side(store: Store, run_id: str) -> Side | None:
    try:
        run = store.run(run_id)
        return Side(run, run.name, store.diagnosis(run_id), None, None)
    except NotFoundError:
        return None  # deleted meanwhile


def _try(side: Side, earlier: Side | None) -> HistoryRun:
    fields = {name: getattr(side.run, name) for name in HistoryRun.model_fields if name != "changed"}
    return HistoryRun(**fields, changed=[] if earlier is None else _changed(earlier, side))


def _changed(earlier: Side, side: Side) -> list[ChangedSetting]:
    differing = [each for each in settings_of((earlier, side)) if each.differs and each.name not in NOT_LISTED]
    return [
        ChangedSetting(
            group=each.group,
            name=each.name,
            unit=each.unit,
            before=each.values[0],
            after=each.values[1],
            matters=each.matters,
        )
        for each in sorted(differing, key=lambda each: not each.matters)
    ]
