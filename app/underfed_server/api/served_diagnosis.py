"""A run's diagnosis as it is served: also of a run not judged yet, and to a project's token without others' runs."""

from __future__ import annotations

from underfed_server.diagnosis.judge import without_figures
from underfed_server.diagnosis.sentence import NO_LOADER, not_judged_yet, why_no_loader
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.errors import NotFoundError
from underfed_server.ingest.permission import Permission
from underfed_server.model import Diagnosis, RunSummary
from underfed_server.store.store import Store
from underfed_server.team.shared_causes import read_shared


def unjudged(run: RunSummary) -> Diagnosis:
    """No verdict and no figure, but the reason."""
    needed = THRESHOLDS.warmup_steps + THRESHOLDS.needed_steps
    said, reason = not_judged_yet(run.status, run.steps)
    if run.no_loader:
        said, reason = NO_LOADER, why_no_loader(run.no_loader)
    return Diagnosis(
        **dict(without_figures(said, reason, judged_steps=0)),
        run_id=run.run_id,
        status=run.status,
        steps=run.steps,
        loader=None,
        needed_steps=needed,
        warmup_steps=THRESHOLDS.warmup_steps,
        advice=[],
        refusals=[],
        ledger=[],
        judged_at=None,
    )


def visible_to(permission: Permission, store: Store, found: Diagnosis) -> Diagnosis:
    """``found`` without runs that the permission does not open, in its ledger and among those that share its cause."""
    if permission.projects() is None:
        return found
    ledger = [
        each for each in found.ledger if all(_opens(permission, store, run) for run in (each.run_id, each.advice_of))
    ]
    shared = read_shared(store, found, permission.projects()) if found.shared else []
    return found.model_copy(update={"ledger": ledger, "shared": shared})


def _opens(permission: Permission, store: Store, run_id: str) -> bool:
    try:
        return permission.opens(store.project_of(run_id))
    except NotFoundError:
        return False
