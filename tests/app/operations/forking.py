"""Processes that are forked for a test, as a service forks its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from underfed_server.forked.forks import Forks, Work


@contextmanager
def forking(*works: Work) -> Iterator[tuple[Forks, psutil.Process]]:
    """What forks for these, and the process that does."""
    before = psutil.Process().children()
    with Forks(*works) as forks:
        (forker,) = set(psutil.Process().children()) - set(before)
        yield forks, forker


def forked_by(forker: psutil.Process) -> psutil.Process:
    """The one process that it has forked."""
    (found,) = forker.children()
    return found
