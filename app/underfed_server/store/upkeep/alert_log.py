"""The thread that deletes old entries of the log of alerts."""

from __future__ import annotations

from datetime import timedelta

from underfed_server.store.store import Store
from underfed_server.store.upkeep.periodic import PeriodicThread

EVERY_S = 3_600.0
FAILED_S = 60.0


def trim_alert_log(store: Store, keep: timedelta) -> PeriodicThread:
    """The thread, not started yet."""

    def trim() -> float:
        store.trim_alerts(keep)
        return EVERY_S

    failed = "old entries of the log of alerts could not be deleted"
    return PeriodicThread("alert-log", trim, failed=failed, failed_s=FAILED_S)
