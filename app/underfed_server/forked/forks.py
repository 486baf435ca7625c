"""The process that forks others. It is forked itself while the service is one thread that has nothing open.

A process with threads cannot be forked safely, and one that is started anew imports for a second what this one has.
It does nothing but wait, so that it lives as long as the service.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from types import TracebackType

from underfed_server.errors import TryLaterError
from underfed_server.garbage import look_seldom

Work = Callable[[socket.socket], None]
"""All that a forked process does: until the other end of the socket is closed."""


class NoForksError(Exception):
    """No process can be forked any more."""


class Forks:
    """One process at a time for each of ``works``; ended with this one, however this one ends. Any thread may ask."""

    def __init__(self, *works: Work) -> None:
        self._works = works
        self.is_over = False
        self._turn = threading.Lock()
        self._control, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                self._control.close()
                _wait_for_orders(theirs, works)
            finally:
                os._exit(0)
        theirs.close()

    def __enter__(self) -> Forks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def new(self, work: Work) -> socket.socket:
        """Kill the process that did this work before and fork another: the socket that leads to it.

        Raises:
            TryLaterError: it is over.
            NoForksError: the process that forks has died, or can fork no more.
        """
        self._require_open()
        try:
            with self._turn:
                self._control.sendall(bytes([self._works.index(work)]))
                _, files, _, _ = socket.recv_fds(self._control, 1, 1)
        except OSError as error:
            self._require_open()
            raise NoForksError(str(error)) from error
        if not files:
            raise NoForksError("it has died")
        return socket.socket(fileno=files[0])

    def _require_open(self) -> None:
        if self.is_over:
            raise TryLaterError("the service ends")

    def start(self) -> None:
        """Nothing is forked before there is something to do."""

    def close(self) -> None:
        """Kill the processes: SQLite moves its log into the file when the last one closes it, which is the service.

        A second time does nothing.
        """
        self.is_over = True
        if self._pid:
            self._control.shutdown(socket.SHUT_RDWR)
            os.waitpid(self._pid, 0)
            self._pid = 0
            self._control.close()


def _wait_for_orders(control: socket.socket, works: Sequence[Work]) -> None:
    # What stops a service is sent to all of its processes: these end when the service does, which ends in order.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # What is never looked at stays shared with the service.
    look_seldom()
    children = [0] * len(works)
    try:
        while asked := control.recv(1):
            place = asked[0]
            _end(children[place])
            ours, theirs = socket.socketpair()
            children[place] = os.fork()
            if children[place] == 0:
                control.close()
                ours.close()
                works[place](theirs)
                os._exit(0)
            theirs.close()
            socket.send_fds(control, [b"+"], [ours.fileno()])
            ours.close()
    finally:
        # They only read: nothing is lost.
        for child in children:
            _end(child)


def _end(child: int) -> None:
    """Not reaped before: its number is nobody else's."""
    if child:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
