"""What a project's token sees of a verdict: nothing of other projects' runs."""

from __future__ import annotations

from underfed_server.errors import NotFoundError
from underfed_server.ingest.permission import Permission
from underfed_server.model import Diagnosis
from underfed_server.store.store import Store
from underfed_server.team.shared_causes import read_shared


def visible_to(permission: Permission, store: Store, found: Diagnosis) -> Diagnosis:
    """``found`` without runs that the permission does not open, in its ledger and among those that share its cause."""
    if permission.project is None:
        return found
    ledger = [
        each for each in found.ledger if all(_opens(permission, store, run) for run in (each.run_id, each.advice_of))
    ]
    shared = read_shared(store, found, permission.project) if found.shared else []
    return found.model_copy(update={"ledger": ledger, "shared": shared})


def _opens(permission: Permission, store: Store, run_id: str) -> bool:
    try:
        return permission.opens(store.project_of(run_id))
    except NotFoundError:
        return False
