"""Has runs judged by a process of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from underfed_server.diagnose import Diagnoser, FoundDiagnosis
from underfed_server.forked.answering import judged
from underfed_server.forked.forks import NoForksError
from underfed_server.store.reading.spark import Curve
from underfed_server.store.store import Store

log = logging.getLogger("underfed.judge")

Ask = Callable[[str], tuple[FoundDiagnosis | None, Curve]]
"""Has a run judged by the process; raises as :meth:`AskedProcess.ask`."""


class JudgeProcess:
    """Asked by several threads, it judges one run at a time.

    The run that the process died of is judged again once more of it comes.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._own: Diagnoser | None = None
        """Once no process can be forked any more."""
        self._alone = threading.Lock()
        """For who judges here: one at a time."""

    def __call__(self, store: Store, run_id: str) -> tuple[FoundDiagnosis | None, Curve]:
        """As :func:`judged`.

        Raises:
            NotFoundError: there is no such run.
            TryLaterError: the process has died.
            FailedElsewhereError: with the traceback.
        """
        own = self._own
        if own is None:
            try:
                return self._ask(run_id)
            except NoForksError as error:
                own = self._here(error)
        with self._alone:
            return judged(own, store, run_id)

    def _here(self, error: NoForksError) -> Diagnoser:
        with self._alone:
            if self._own is None:
                log.warning(
                    "no process can be forked that judges (%s): runs are judged where windows are received, until the "
                    "service is restarted", error,
                )  # fmt: skip
                self._own = Diagnoser()
            return self._own
