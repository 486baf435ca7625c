"""The process that forks judges. It is forked itself while the service is one thread that has nothing open.

A process with threads cannot be forked safely, and one that is started anew imports for a second what this one has.
It does nothing but wait, so that it lives as long as the service.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
from collections.abc import Callable
from types import TracebackType

from underfed_server.errors import TryLaterError

NICE = 5
"""Windows come first: a judge has a third of what the service has of a core that both want."""

Work = Callable[[socket.socket], None]
"""All that a forked process does: until the other end of the socket is closed."""


class NoForksError(Exception):
    """No process can be forked any more."""


class Forks:
    """One process at a time that does ``work``; ended with this one, however this one ends. Not for several threads at
    once, but for :meth:`close`."""

    def __init__(self, work: Work) -> None:
        self._control, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                self._control.close()
                _wait_for_orders(theirs, work)
            finally:
                os._exit(0)
        theirs.close()

    def __enter__(self) -> Forks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def new(self) -> socket.socket:
        """Kill the process of before and fork another: the socket that leads to it.

        Raises:
            TryLaterError: it is over.
            NoForksError: the process that forks has died, or can fork no more.
        """
        if not self._pid:
            raise TryLaterError("the service ends")
        try:
            self._control.sendall(b"+")
            _, files, _, _ = socket.recv_fds(self._control, 1, 1)
        except OSError as error:
            raise NoForksError(str(error)) from error
        if not files:
            raise NoForksError("it has died")
        return socket.socket(fileno=files[0])

    def close(self) -> None:
        """Kill the process. A second time does nothing."""
        if self._pid:
            self._control.shutdown(socket.SHUT_RDWR)
            os.waitpid(self._pid, 0)
            self._pid = 0
            self._control.close()


def _wait_for_orders(control: socket.socket, work: Work) -> None:
    # What stops a service is sent to all of its processes: these end when the service does, which ends in order.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # What is never looked at stays shared with the service.
    gc.freeze()
    child = 0
    try:
        while control.recv(1):
            _end(child)
            ours, theirs = socket.socketpair()
            child = os.fork()
            if child == 0:
                control.close()
                ours.close()
                os.nice(NICE)
                work(theirs)
                os._exit(0)
            theirs.close()
            socket.send_fds(control, [b"+"], [ours.fileno()])
            ours.close()
    finally:
        # It only reads: nothing is lost.
        _end(child)


def _end(child: int) -> None:
    """Not reaped before: its number is nobody else's."""
    if child:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
