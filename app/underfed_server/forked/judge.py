"""Has runs judged by a process of its own, and saves what it found."""

from __future__ import annotations

import logging
import threading
from typing import cast

from underfed_server.diagnose import Diagnoser, save
from underfed_server.forked.answering import judge_runs
from underfed_server.forked.asked import AskedProcess
from underfed_server.forked.forks import Forks, NoForksError
from underfed_server.model import Diagnosis
from underfed_server.store.store import Store

log = logging.getLogger("underfed.judge")


class JudgeProcess:
    """Asked by several threads, it judges one run at a time; what was found is saved while the next one is judged.

    The run that the process died of is judged again once more of it comes.
    """

    def __init__(self, forks: Forks, database_url: str) -> None:
        self._process = AskedProcess(forks, judge_runs, database_url)
        self._own: Diagnoser | None = None
        """Once no process can be forked any more."""
        self._turn = threading.Lock()

    def __call__(self, store: Store, run_id: str) -> bool:
        """Judge the run and save its diagnosis. ``False``: it says the same as the last one.

        Raises:
            NotFoundError: there is no such run.
            TryLaterError: the store cannot be written, or the process has died.
            FailedElsewhereError: with the traceback.
        """
        with self._turn:
            found = self._judged(store, run_id)
        return found is not None and save(store, found)

    def _judged(self, store: Store, run_id: str) -> Diagnosis | None:
        """``None``: the run's last diagnosis stays as it is."""
        if self._own is None:
            try:
                return cast("Diagnosis | None", self._process.ask(run_id))
            except NoForksError as error:
                log.warning(
                    "no process can be forked that judges (%s): runs are judged where windows are received, until the "
                    "service is restarted", error,
                )  # fmt: skip
                self._own = Diagnoser()
        return self._own.diagnose(store, run_id)
