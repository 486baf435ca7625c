"""What a project's token is told of a verdict: nothing of other projects' runs."""

from __future__ import annotations

from underfed_server.errors import NotFoundError
from underfed_server.ingest.grant import Grant
from underfed_server.model import Diagnosis
from underfed_server.store.store import Store
from underfed_server.team.shared import read_shared


def told_to(grant: Grant, store: Store, found: Diagnosis) -> Diagnosis:
    """``found`` with those runs alone that the grant opens, in its ledger and among those that share its cause."""
    if grant.project is None:
        return found
    ledger = [each for each in found.ledger if all(_opens(grant, store, run) for run in (each.run_id, each.advice_of))]
    shared = read_shared(store, found, grant.project) if found.shared else []
    return found.model_copy(update={"ledger": ledger, "shared": shared})


def _opens(grant: Grant, store: Store, run_id: str) -> bool:
    try:
        return grant.opens(store.project_of(run_id))
    except NotFoundError:
        return False
