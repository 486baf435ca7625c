"""The threads that delete old entries of the audit log, and of the log of alerts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from underfed_server.store.store import Store
from underfed_server.store.upkeep.periodic import PeriodicThread

EVERY_S = 3_600.0
FAILED_S = 60.0


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
