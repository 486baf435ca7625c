"""A thread that does one piece of background work after the other and rests between them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from underfed_server.store.databases.trouble import log_failure

CLOSING_S = 1.5


class PeriodicThread:
    """Starts with :meth:`start`, ends with :meth:`close`."""

    def __init__(
        self,
        name: str,
        work: Callable[[], float],
        *,
        failed: str,
        failed_s: float,
        first_s: float = 0.0,
        closing_s: float = CLOSING_S,
    ) -> None:
        """``work`` returns the seconds to rest. Where it raises, ``failed`` is logged and it is called again after
        ``failed_s``. It is first called after ``first_s``; :meth:`close` waits ``closing_s`` for work in progress.
        """
        self._log = logging.getLogger(f"underfed.{name}")
        self._work = work
        self._failed = failed
        self._failed_s = failed_s
        self._first_s = first_s
        self._closing_s = closing_s
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"underfed-{name}", daemon=True)

    @property
    def is_closing(self) -> bool:
        """Whether to end; long work checks this between its pieces."""
        return self._closing.is_set()

    def rest(self, seconds: float) -> None:
        """Sleep, but no longer than until :meth:`close`."""
        self._closing.wait(seconds)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join(self._closing_s)

    def _run(self) -> None:
        self.rest(self._first_s)
        while not self.is_closing:
            try:
                rest_s = self._work()
            except Exception as error:
                log_failure(self._log, error, self._failed)
                rest_s = self._failed_s
            self.rest(rest_s)
