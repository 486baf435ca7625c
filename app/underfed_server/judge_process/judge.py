"""Has runs judged by a process of its own, and saves what it found."""

from __future__ import annotations

import logging
import threading
import time
from multiprocessing.connection import Connection

from underfed_server.diagnose import Diagnoser, save
from underfed_server.errors import TryLaterError
from underfed_server.judge_process.answering import Answer
from underfed_server.judge_process.forks import Forks, NoForksError
from underfed_server.store.store import Store

log = logging.getLogger("underfed.judge")

LONGEST_S = 60.0
"""A judgement takes a tenth of a second, with advice one or two. What takes longer is ended: others wait for it."""

AGAIN_S = 1.0
"""Between two starts: a process that dies at once must not take a core for that."""


class JudgeProcess:
    """Asked by several threads, it judges one run at a time; what was found is saved while the next one is judged.

    The process is forked when it is first needed, and again when it has died: the run that it died of is judged
    again once more of it comes.
    """

    def __init__(self, forks: Forks, database_url: str) -> None:
        self._forks = forks
        self._url = database_url
        self._process: Connection | None = None
        self._forked_at = float("-inf")
        self._own: Diagnoser | None = None
        """Once no process can be forked any more."""
        self._turn = threading.Lock()

    def __call__(self, store: Store, run_id: str) -> bool:
        """Judge the run and save its diagnosis. ``False``: it says the same as the last one.

        Raises:
            NotFoundError: there is no such run.
            TryLaterError: the store cannot be written, or the process has died.
            FailedJudgementError: with the traceback.
        """
        with self._turn:
            found = self._judged(store, run_id)
        if isinstance(found, Exception):
            raise found
        return found is not None and save(store, found)

    def start(self) -> None:
        """Not before there is something to judge."""

    def close(self) -> None:
        """Kill the process: SQLite moves its log into the file when the last one closes it, which is the service."""
        self._forks.close()

    def _judged(self, store: Store, run_id: str) -> Answer:
        if self._own is None:
            try:
                return self._ask(run_id)
            except NoForksError as error:
                log.warning(
                    "no process can be forked that judges (%s): runs are judged where windows are received, until the "
                    "service is restarted", error,
                )  # fmt: skip
                self._own = Diagnoser()
        return self._own.diagnose(store, run_id)

    def _ask(self, run_id: str) -> Answer:
        try:
            process = self._process = self._process or self._forked()
            process.send(run_id)
            if process.poll(LONGEST_S):
                found: Answer = process.recv()
                return found
            why = f"it took more than {LONGEST_S:.0f} s"
        except (EOFError, OSError) as error:
            why = str(error) or "it has died"
        if self._process is not None:
            self._process.close()
            self._process = None
        raise TryLaterError(f"the process that judges is started again: {why}")

    def _forked(self) -> Connection:
        time.sleep(max(0.0, self._forked_at + AGAIN_S - time.monotonic()))
        self._forked_at = time.monotonic()
        process = Connection(self._forks.new().detach())
        process.send(self._url)
        return process
