"""Workers of ours where the script has none: what it asks of its own children does not show them.

``multiprocessing.active_children()`` is used to wait for all of them, which would be waiting for workers that wait for
the training. Nor is torch's handler of SIGCHLD installed for them. What the kernel tells of children shows them:
docs/tuning.md.
"""

from __future__ import annotations

import multiprocessing.process
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import util
from typing import Any
from weakref import WeakSet

_children: set[Any] = getattr(multiprocessing.process, "_children", set())
_unseen: WeakSet[Any] = WeakSet()


def hide(workers: Iterable[Any]) -> None:
    """Until Python ends: multiprocessing then ends the children that it knows."""
    if not _unseen:
        util.Finalize(None, _show, exitpriority=0)
    for worker in workers:
        _unseen.add(worker)
        _children.discard(worker)


def _show() -> None:
    _children.update(worker for worker in _unseen if worker.exitcode is None)


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
