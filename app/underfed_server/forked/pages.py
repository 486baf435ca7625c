"""Has pages of all runs written by a process of its own: Python runs one thread at a time, and each row that is read
would wait for its turn behind the windows that arrive, and they behind it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from underfed_server.errors import TryLaterError
from underfed_server.forked.forks import Forks, NoForksError
from underfed_server.store.store import Store
from underfed_server.team.pages import Page

log = logging.getLogger("underfed.pages")

Ask = Callable[[Page], bytes]
"""Has it written by the process; raises as :meth:`AskedProcess.ask`."""


class PageProcess:
    """Asked by several threads, it writes one page at a time."""

    def __init__(self, ask: Ask, forks: Forks) -> None:
        self._ask = ask
        self._forks = forks
        self._can_fork = True

    def __call__(self, store: Store, page: Page) -> bytes:
        """What ``page`` writes.

        Raises:
            RequestError: as the page does; :class:`TryLaterError`, too, if two processes have died of it.
            FailedElsewhereError: with the traceback.
        """
        if self._can_fork:
            try:
                return self._asked(page)
            except NoForksError as error:
                log.warning(
                    "no process can be forked that writes pages (%s): they are written where windows are received, "
                    "until the service is restarted", error,
                )  # fmt: skip
                self._can_fork = False
        return page(store)

    def _asked(self, page: Page) -> bytes:
        try:
            return self._ask(page)
        except TryLaterError:
            if self._forks.is_over:
                raise
            # It has died, of this page or of another one: the next process is asked.
            return self._ask(page)
