"""The threads that remove what was kept for a while: deleted runs, and old entries of the logs of edits and alerts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from underfed_server.store.store import Store
from underfed_server.store.upkeep.periodic import PeriodicThread

RUNS_EVERY_S = 5.0
REST_S = 0.05
"""Rest after each piece of a run: windows come first."""

EVERY_S = 3_600.0
FAILED_S = 60.0


def remove_deleted_runs(store: Store) -> PeriodicThread:
    """The thread, not started yet: of runs that nobody can restore any more."""

    def remove() -> float:
        run_id = store.forgettable()
        if run_id is None:
            return RUNS_EVERY_S
        store.forget_some(run_id)
        return REST_S

    return PeriodicThread("upkeep", remove, failed="a deleted run could not be removed", failed_s=RUNS_EVERY_S)


def trim_audit_log(store: Store, keep: timedelta) -> PeriodicThread:
    """The thread, not started yet."""
    return _trimming("audit", lambda: store.trim_audit(keep), "the audit log")


def trim_alert_log(store: Store, keep: timedelta) -> PeriodicThread:
    """The thread, not started yet."""
    return _trimming("alert-log", lambda: store.trim_alerts(keep), "the log of alerts")


def _trimming(name: str, delete: Callable[[], object], log: str) -> PeriodicThread:
    def trim() -> float:
        delete()
        return EVERY_S

    return PeriodicThread(name, trim, failed=f"old entries of {log} could not be deleted", failed_s=FAILED_S)
