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
    """First the URL of the database comes, then the run and the format. Sent are ``None``, once it is known that there
    is something to send, the pieces, and ``None``; an exception in place of any of them is the end.
    """
    os.nice(NICE)
    asked = Connection(other_end.detach())
    try:
        store = Store(asked.recv(), only_reads=True)
        pieces = answered(lambda request: export_here(store, *request), asked.recv())
        if isinstance(pieces, Exception):
            asked.send(pieces)
            return
        asked.send(None)
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
        pieces = _Pieces(process, partial(self._give_back, work))
        pieces.begin(self._url, run, format)
        return pieces

    def _take(self) -> Work:
        with self._lock:
            if not self._free:
                raise TryLaterError("this service exports as many runs as it may; try again later", retry_after_s=5)
            return self._free.pop()

    def _give_back(self, work: Work) -> None:
        with self._lock:
            self._free.append(work)


class _Pieces(Iterator[bytes]):
    """Those that a process sends. Whoever leaves them ends it."""

    def __init__(self, process: Connection, ended: partial[None]) -> None:
        self._process: Connection | None = process
        self._ended = ended

    def begin(self, url: str, run: Run, format: ExportFormat) -> None:
        """On return there is something to send.

        Raises:
            InvalidError, TryLaterError: as :class:`ExportProcesses`.
        """
        assert self._process is not None
        try:
            self._process.send(url)
            self._process.send((run, format))
        except OSError:
            self.close()
            raise _died() from None
        self._receive()

    def __next__(self) -> bytes:
        piece = self._receive() if self._process is not None else None
        if piece is None:
            self.close()
            raise StopIteration
        return piece

    def _receive(self) -> bytes | None:
        """``None``: that was the first of all, or the last."""
        assert self._process is not None
        try:
            found = self._process.recv()
        except (EOFError, OSError):
            self.close()
            raise _died() from None
        if isinstance(found, Exception):
            self.close()
            raise found
        piece: bytes | None = found
        return piece

    def close(self) -> None:
        """A second time does nothing."""
        if self._process is not None:
            self._process.close()
            self._process = None
            self._ended()

    def __del__(self) -> None:
        self.close()


def _died() -> TryLaterError:
    return TryLaterError("the process that exports has died; try again later", retry_after_s=5)
