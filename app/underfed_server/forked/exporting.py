"""Has runs exported by processes of their own: one that writes millions of rows would keep each page and each window
waiting for the interpreter.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from multiprocessing.connection import Connection

from underfed_server.errors import TryLaterError
from underfed_server.export.formats import ExportFormat, export_here
from underfed_server.forked.answering import NICE, answered
from underfed_server.forked.forks import Forks, NoForksError, Work
from underfed_server.model import Run
from underfed_server.store.store import Store

log = logging.getLogger("underfed.export")


def works(at_once: int) -> Sequence[Work]:
    """So many that each is done by a process of its own."""
    return [partial(_export_one) for _ in range(at_once)]


def _export_one(other_end: socket.socket) -> None:
    """First the URL of the database comes, then the run and the format. Sent are an empty piece, once it is known that
    there is something to send, the others, and ``None``; an exception in place of any of them is the end.
    """
    os.nice(NICE)
    asked = Connection(other_end.detach())
    try:
        store = Store(asked.recv(), only_reads=True)
        pieces = answered(lambda request: export_here(store, *request), asked.recv())
        if isinstance(pieces, Exception):
            asked.send(pieces)
            return
        asked.send(b"")
        while not isinstance(piece := answered(lambda each: next(each, None), pieces), Exception | None):
            asked.send(piece)
        asked.send(piece)
    except (EOFError, OSError):
        return  # the service has ended, or its client has gone away


class ExportProcesses:
    """Any thread may export."""

    def __init__(self, forks: Forks, works: Sequence[Work], database_url: str) -> None:
        self._forks = forks
        self._free = list(works)
        self._url = database_url
        self._lock = threading.Lock()

    def __call__(self, store: Store, run: Run, format: ExportFormat) -> Iterator[bytes]:
        """As :func:`export_here`, by another process.

        Raises:
            InvalidError: as there.
            TryLaterError: all processes export already, or this one has died.
        """
        work = self._take()
        try:
            process = Connection(self._forks.new(work).detach())
        except BaseException as error:
            self._give_back(work)
            if not isinstance(error, NoForksError):
                raise
            log.warning("no process can be forked that exports (%s): runs are exported where pages are served", error)
            return export_here(store, run, format)
        pieces = self._pieces(process, work, run, format)
        # On return there is something to send.
        next(pieces)
        return pieces

    def _pieces(self, process: Connection, work: Work, run: Run, format: ExportFormat) -> Iterator[bytes]:
        """Those that the process sends, an empty one first. Whoever leaves them ends it."""
        try:
            process.send(self._url)
            process.send((run, format))
            while (found := process.recv()) is not None:
                if isinstance(found, Exception):
                    raise found
                yield found
        except (EOFError, OSError):
            raise TryLaterError("the process that exports has died; try again later", retry_after_s=5) from None
        finally:
            process.close()
            self._give_back(work)

    def _take(self) -> Work:
        with self._lock:
            if not self._free:
                raise TryLaterError("this service exports as many runs as it may; try again later", retry_after_s=5)
            return self._free.pop()

    def _give_back(self, work: Work) -> None:
        with self._lock:
            self._free.append(work)
