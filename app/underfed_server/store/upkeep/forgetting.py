"""The thread that forgets runs which were deleted, once nobody can have them back."""

from __future__ import annotations

from underfed_server.store.store import Store
from underfed_server.store.upkeep.rounds import Rounds

EVERY_S = 5.0
REST_S = 0.05
"""After each piece of work: windows come first."""


class Forgetting:
    """Starts with :meth:`start`, ends with :meth:`close`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rounds = Rounds("upkeep", self._tidy, failed="a deleted run could not be forgotten", failed_s=EVERY_S)
        self.start = self._rounds.start
        self.close = self._rounds.close

    def _tidy(self) -> float:
        """Where there was something to do there may be more."""
        run_id = self._store.forgettable()
        if run_id is None:
            return EVERY_S
        self._store.forget_some(run_id)
        return REST_S
