"""The thread that removes what is recorded of deleted runs, once nobody can restore them."""

from __future__ import annotations

from underfed_server.store.store import Store
from underfed_server.store.upkeep.periodic import PeriodicThread

EVERY_S = 5.0
REST_S = 0.05
"""Rest after each piece of work: windows come first."""


def remove_deleted_runs(store: Store) -> PeriodicThread:
    """The thread, not started yet."""

    def remove() -> float:
        run_id = store.forgettable()
        if run_id is None:
            return EVERY_S
        store.forget_some(run_id)
        return REST_S

    return PeriodicThread("upkeep", remove, failed="a deleted run could not be removed", failed_s=EVERY_S)
