"""Times the collate function and counts the samples it is given, in a worker and with ``num_workers=0`` alike.

Torch's fetchers call ``begin`` and ``end`` around it (see ``splice``); the user's function is not touched.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeVar

from underfed.exchange.ring_format import NOT_MEASURED
from underfed.host.clock import now_ns
from underfed.trainer.attached import attach, attached
from underfed.trainer.loading.probe import Probe
from underfed.trainer.splice import AtCall, Spliced, splice

Batch = TypeVar("Batch")
Token = tuple["CollateTimer", int]

KEY = "_underfed"
"""The timer's name among its fetcher's attributes."""

SEAM = AtCall("self.collate_fn", ("self", "data"), "begin", "end", only_while="running")

running: set[CollateTimer] = set()
"""Timers of this process that are on. In most steps of a training process, and for most short batches of a worker, none
is, and nothing is called."""


@dataclass(slots=True, eq=False)
class CollateTimer:
    """What collating took since ``restart()``, waiting for a core left out. Off until then.

    On a machine whose cores are shared, a collate function of microseconds may wait for milliseconds.
    """

    probe: Probe
    elapsed_ns: int = 0
    samples: int = 0

    def restart(self) -> None:
        self.elapsed_ns = self.samples = 0
        running.add(self)

    def stop(self) -> None:
        running.discard(self)

    def clock_ns(self, at_ns: int | None = None) -> int:
        """Stands still while the thread waits for a core; where the system does not tell how long it does, while it is
        not on one. ``at_ns``: an instant just before, so that reading the clock, a third of a batch of 50 µs, is left
        out; ``None``: now."""
        waited_ns = self.probe.waited_ns()
        if waited_ns == NOT_MEASURED:
            return time.thread_time_ns()
        return (now_ns() if at_ns is None else at_ns) - waited_ns


class Awaited(threading.local):
    """In a worker: the timer for the fetcher that torch's loop is about to create, known by its collate function."""

    timer: CollateTimer | None = None
    collate: Callable[[Any], Any] | None = None
    dataset_types: Collection[type] = ()


awaited = Awaited()


def begin(fetcher: Any, samples: Any) -> Token | None:
    timer: CollateTimer | None = attached(fetcher, KEY)
    if timer is None and awaited.timer is not None:
        timer = _adopt(fetcher)
    if timer is None or timer not in running:
        return None
    timer.samples += len(samples) if isinstance(samples, list) else 1
    return timer, timer.clock_ns()


def end(token: Token | None, batch: Batch) -> Batch:
    if token is not None:
        timer, started_ns = token
        timer.elapsed_ns += max(0, timer.clock_ns(now_ns()) - started_ns)
    return batch


def splice_fetchers() -> list[Spliced]:
    """Empty where this torch's fetchers have another form."""
    import sys

    from torch.utils.data._utils import fetch

    ours = sys.modules[__name__]
    kinds = [getattr(fetch, name, None) for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher")]
    spliced = [splice(vars(kind).get("fetch"), SEAM, ours) for kind in kinds if kind is not None]
    return [each for each in spliced if each is not None]


def _adopt(fetcher: Any) -> CollateTimer | None:
    """A data set may itself iterate a loader: only the fetcher of the worker's own data set gets the timer."""
    if fetcher.collate_fn is not awaited.collate or type(fetcher.dataset) not in awaited.dataset_types:
        return None
    timer, awaited.timer = awaited.timer, None
    if timer is not None:
        attach(fetcher, KEY, timer)
    return timer
