"""A forked process as it is asked: forked when it is first needed, and again when it has died or hangs."""

from __future__ import annotations

import threading
import time
from collections import deque
from multiprocessing.connection import Connection
from typing import Any

from underfed_server.errors import TryLaterError
from underfed_server.forked.forks import Forks, Work

LONGEST_S = 60.0
"""A judgement takes a tenth of a second, with advice one or two, and chunks of a stream as little. What takes longer is
ended: others wait for it."""

AGAIN_S = 1.0
"""Between two starts: a process that dies at once must not take a core for that."""


class AskedProcess:
    """Any thread may ask. What is asked while another request is answered waits in the process: it goes on with that at
    once, however long it takes until somebody has a turn to take the answer.
    """

    def __init__(self, forks: Forks, work: Work, database_url: str) -> None:
        self._forks = forks
        self._work = work
        self._url = database_url
        self._process: Connection | None = None
        self._forked_at = float("-inf")
        self._changed = threading.Condition()
        self._awaited: deque[object] = deque()
        """Of each request that it was sent, in order, who takes its answer."""

    def ask(self, request: object) -> Any:
        """The answer.

        Raises:
            Exception: what the process answered with.
            TryLaterError: it has died, or was ended.
            NoForksError: no process can be forked any more.
        """
        own = object()
        process = self._sent(request, own)
        with self._changed:
            self._changed.wait_for(lambda: process is not self._process or self._awaited[0] is own)
            if process is not self._process:
                raise _again("it has died")
        why, found = "its answer cannot be read", None
        try:
            is_there = process.poll(LONGEST_S)
            found = process.recv() if is_there else None
            why = "" if is_there else f"it took more than {LONGEST_S:.0f} s"
        except (EOFError, OSError) as error:
            why = str(error) or "it has died"
        finally:
            with self._changed:
                if why:
                    self._end()
                else:
                    self._awaited.popleft()
                self._changed.notify_all()
        if why:
            raise _again(why)
        if isinstance(found, Exception):
            raise found
        return found

    def _sent(self, request: object, own: object) -> Connection:
        """To which process."""
        with self._changed:
            try:
                process = self._process = self._process or self._forked()
                process.send(request)
            except (EOFError, OSError) as error:
                # Whoever waits for an answer finds that out as well, and may be reading at this moment.
                if not self._awaited:
                    self._end()
                raise _again(str(error) or "it has died") from error
            self._awaited.append(own)
            return process

    def _end(self) -> None:
        """The next one is forked in its place; nobody gets an answer any more."""
        self._awaited.clear()
        if self._process is not None:
            self._process.close()
            self._process = None

    def _forked(self) -> Connection:
        time.sleep(max(0.0, self._forked_at + AGAIN_S - time.monotonic()))
        self._forked_at = time.monotonic()
        process = Connection(self._forks.new(self._work).detach())
        process.send(self._url)
        return process


def _again(why: str) -> TryLaterError:
    return TryLaterError(f"the process that does this is started again: {why}")
