"""What ``underfed run --replay`` measured for a run or for another one of its job with the same settings."""

from __future__ import annotations

from underfed_server.advice.traits import normalised
from underfed_server.model import MeasuredReplay, Run, Setting
from underfed_server.store.store import Store


def read_replay(store: Store, run_id: str) -> MeasuredReplay | None:
    """The run's own, else the newest of its job; ``None``: none was measured with the same settings.

    Raises:
        NotFoundError: there is no such run.
    """
    others = store.replays(run_id)
    if not others:
        return None
    settings = _settings(store.run(run_id))
    runs = (store.run(other) for other in others)
    return next((_measured(run) for run in runs if run.run_id == run_id or _settings(run) == settings), None)


def tell_of_replay(store: Store, run_id: str) -> None:
    """Put what an ended run measured into the diagnosis of the newest earlier run with the same settings."""
    run = store.run(run_id)
    if run.replay is None:
        return
    for earlier in store.earlier_runs(run_id):
        diagnosis = store.diagnosis(earlier.run_id)
        if diagnosis and _settings(store.run(earlier.run_id)) == _settings(run):
            store.save_diagnosis(diagnosis.model_copy(update={"replay": _measured(run)}))
            return


def _measured(run: Run) -> MeasuredReplay | None:
    return MeasuredReplay(run_id=run.run_id, **dict(run.replay)) if run.replay else None


def _settings(run: Run) -> dict[str, dict[str, Setting]]:
    """Of each loader."""
    return {info.loader: normalised({**run.overrides, **info.settings}) for info in run.loaders}
