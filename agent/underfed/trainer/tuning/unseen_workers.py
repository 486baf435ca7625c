"""Workers of ours where the script has none: what it asks of its own children does not show them.

``multiprocessing.active_children()`` is used to wait for all of them, which would be waiting for workers that wait for
the training. Nor is torch's handler of SIGCHLD installed for them. What the kernel reports of children shows them:
docs/tuning.md.
"""

from __future__ import annotations

import multiprocessing.process
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import util
from typing import Any

_children: set[Any] = getattr(multiprocessing.process, "_children", set())
_unseen: set[Any] = set()
"""Held until they have ended, as multiprocessing holds children. An iterator in a cycle of garbage waits for its
workers as it is finalized: what reports their end would be closed by then, and it would wait for ever."""
_at_exit: list[util.Finalize] = []


def hide(workers: Iterable[Any]) -> None:
    """Until Python ends: multiprocessing then ends the children that it knows."""
    if not any(each.still_active() for each in _at_exit):  # A child of multiprocessing has none of its parent's.
        _at_exit[:] = [util.Finalize(None, _show, exitpriority=0)]
    _unseen.difference_update([worker for worker in _unseen if not _lives(worker)])
    for worker in workers:
        _unseen.add(worker)
        _children.discard(worker)


def _show() -> None:
    _children.update(worker for worker in _unseen if _lives(worker))


def _lives(worker: Any) -> bool:
    """Also of a worker of the process that this one was forked from: not a child here."""
    return worker._parent_pid == os.getpid() and worker.exitcode is None


@contextmanager
def without_torchs_handler() -> Iterator[None]:
    """Of SIGCHLD, which it installs at the first worker, for good, in the place of what ignores SIGCHLD, too."""
    from torch.utils.data import _utils

    handling: Any = _utils.signal_handling
    before = handling._SIGCHLD_handler_set
    handling._SIGCHLD_handler_set = True
    try:
        yield
    finally:
        handling._SIGCHLD_handler_set = before
