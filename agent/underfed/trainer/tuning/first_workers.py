"""Whether a data set that the training process has loaded by itself may be given workers without being asked.

A worker is another process: what the data set shares with the training process, and what starting a process runs, are
the program's own to know. What can be seen beforehand is refused here; docs/tuning.md says what cannot.
"""

from __future__ import annotations

import ast
import functools
import gc
import inspect
import io
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor
from multiprocessing.pool import Pool
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from underfed.host.signal_handlers import passing
from underfed.trainer.settings.loader_parts import start_method

MOST_OBJECTS = 20_000
"""Of a data set are looked at: some milliseconds, once in a search."""

LARGE = 1_000
"""A container of more holds samples, or where they lie."""

SHARED = (io.FileIO, socket.socket)
"""A forked process has the same one: the place that the next read begins at is that of both."""

THREADED = (Executor, Pool, threading.Thread)
"""A forked process has none of their threads, and would wait for them."""

SHARED_LIBRARIES = frozenset({"h5py", "lmdb", "sqlite3"})
"""Whose open objects must not be used on both sides of a fork, by their own documentation."""

MADE_IN_EACH = "; it could have workers if each of them opened its own, at its first `__getitem__`"
IN_ORDER = "; it could have workers without in_order=False"
GUARDED = "; it could have workers if the training were put under one"
"""The usual cures."""

COUNTS_CHILDREN = (
    "the program handles SIGCHLD, and would be told of workers that end as of its own children; it could have workers "
    "if it waited for the children that it started"
)


def why_no_first_workers(loader: Any) -> str | None:
    """``None``: nothing speaks against it."""
    if not getattr(loader, "in_order", True):
        return f"it has in_order=False, with which workers hand batches out in any order{IN_ORDER}"
    if handles_children():
        return COUNTS_CHILDREN
    if start_method(loader) == "fork":
        if (pool := _pool_of(loader.dataset)) is not None:
            return f"its data set holds a {pool}, which does not run in forked workers{MADE_IN_EACH}"
        found = open_file_of(loader.dataset)
        return f"its data set holds an open {found}, which forked workers would share{MADE_IN_EACH}" if found else None
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if main is not None and not is_guarded(main):
        return f'starting a worker runs the script again: it has no `if __name__ == "__main__":`{GUARDED}'
    return None


def handles_children() -> bool:
    """Whether what the program set for SIGCHLD is not the default. Torch's own handler calls the program's."""
    from torch.utils.data import _utils

    handler: Any = signal.getsignal(signal.SIGCHLD)
    if getattr(handler, "__module__", None) == _utils.signal_handling.__name__:
        handler = inspect.getclosurevars(handler).nonlocals.get("previous_handler") or signal.SIG_DFL
    return handler is not signal.SIG_DFL


@functools.lru_cache(maxsize=1)
def is_guarded(path: str) -> bool:
    """Whether the script asks for its own name at the outermost level. One that cannot be read does not."""
    with passing(OSError, SyntaxError, ValueError, RecursionError):
        body = ast.parse(Path(path).read_bytes()).body
        tests = [statement.test for statement in body if isinstance(statement, ast.If)]
        return any(isinstance(node, ast.Name) and node.id == "__name__" for test in tests for node in ast.walk(test))
    return False


def open_file_of(dataset: Any) -> str | None:
    """What of it has a place in a file or a connection, by name; ``None``: none was found in what was looked at."""
    for looked_at in _parts_of(dataset):
        if isinstance(looked_at, SHARED) and not _is_closed(looked_at):
            return "file" if isinstance(looked_at, io.FileIO) else "connection"
        library = type(looked_at).__module__.partition(".")[0]
        if library in SHARED_LIBRARIES:
            return f"object of {library}"
    return None


def _pool_of(dataset: Any) -> str | None:
    """The type of what of it has threads or processes of its own."""
    found = (part for part in _parts_of(dataset) if isinstance(part, THREADED))
    return next((type(each).__name__ for each in found), None)


def _parts_of(dataset: Any) -> Iterator[Any]:
    """It and what it holds, the nearest first. What a pool holds is the pool's: its threads hold the terminal."""
    waiting, known = deque([dataset]), {id(dataset)}
    while waiting and len(known) < MOST_OBJECTS:
        looked_at = waiting.popleft()
        yield looked_at
        if isinstance(looked_at, (ModuleType, type, FunctionType, *SHARED, *THREADED)):
            continue
        if type(looked_at).__module__.partition(".")[0] in {"torch", *SHARED_LIBRARIES}:
            continue
        if isinstance(looked_at, (list, tuple, dict, set, frozenset)) and len(looked_at) > LARGE:
            continue
        for part in gc.get_referents(looked_at):
            if id(part) not in known and (gc.is_tracked(part) or isinstance(part, SHARED)):
                known.add(id(part))
                waiting.append(part)


def _is_closed(shared: Any) -> bool:
    return bool(shared.closed) if isinstance(shared, io.FileIO) else shared.fileno() < 0
