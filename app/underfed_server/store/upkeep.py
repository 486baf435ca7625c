"""The thread that forgets runs which were deleted, once nobody can have them back."""

from __future__ import annotations

import logging
import threading

from underfed_server.store.store import Store
from underfed_server.store.trouble import tell

log = logging.getLogger("underfed.upkeep")

EVERY_S = 5.0
REST_S = 0.05
"""After each piece of work: windows come first."""

CLOSING_S = 1.5


class Upkeep:
    """Starts with :meth:`start`, ends with :meth:`close`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="underfed-upkeep", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join(CLOSING_S)

    def _run(self) -> None:
        while not self._closing.is_set():
            self._closing.wait(REST_S if self._tidied() else EVERY_S)

    def _tidied(self) -> bool:
        """Whether there was something to do, so that there may be more."""
        try:
            run_id = self._store.forgettable()
            if run_id is not None:
                self._store.forget_some(run_id)
        except Exception as error:
            tell(log, error, "a deleted run could not be forgotten")
        else:
            return run_id is not None
        return False
