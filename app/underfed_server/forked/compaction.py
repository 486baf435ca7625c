"""Has the chunks of streams computed by a process of its own, beside the one that receives windows."""

from __future__ import annotations

import logging
from collections.abc import Callable

from underfed_server.errors import TryLaterError
from underfed_server.forked.forks import Forks, NoForksError
from underfed_server.store.writing.compact import Compaction, NotElsewhereError
from underfed_server.store.writing.streams import StreamKey

log = logging.getLogger("underfed.store")

Ask = Callable[[StreamKey], Compaction | None]
"""Has them computed by the process; raises as :meth:`AskedProcess.ask`."""


class CompactionProcess:
    """Asked by the writer's second thread."""

    def __init__(self, ask: Ask, forks: Forks) -> None:
        self._ask = ask
        self._forks = forks

    def __call__(self, key: StreamKey) -> Compaction | None:
        """As :func:`compact.prepare`.

        Raises:
            NotElsewhereError: the service ends, or no process can be forked any more.
            TryLaterError: the process has died, or the database cannot be read.
            FailedElsewhereError: with the traceback.
        """
        try:
            return self._ask(key)
        except NoForksError as error:
            log.warning(
                "no process can be forked that compacts (%s): streams are compacted where windows are received, until "
                "the service is restarted", error,
            )  # fmt: skip
            raise NotElsewhereError from error
        except TryLaterError as error:
            if self._forks.is_over:
                raise NotElsewhereError from error
            raise
