"""``--replay N``: the training loop gets N real batches, then the same N again without loading, and the program ends.

The second time shows how fast it would be with instant data. Torch's iterator does not see the requests of the second
time, and nothing else measures them.
"""

from __future__ import annotations

import atexit
import os
import statistics
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from underfed.exchange import launch
from underfed.exchange.facts import Replayed
from underfed.exchange.guard import Guard
from underfed.exchange.launch import Say, first_rank_only
from underfed.host.clock import Clock, now_ns
from underfed.trainer.attached import attach, attached
from underfed.trainer.batch import with_parts
from underfed.trainer.settings.training_loaders import TrainingLoaders

KEY = "_underfed_replay"
"""The feed's name among the attributes of its loader's iterators."""

ENOUGH = 20
"""Steps from which a run is judged."""

BLOCKS = 8
"""The median is taken of the mean steps of so many blocks: one pause or slow start moves one block, while a wait that
comes with every fourth batch, as with four workers, is in all of them. A median of steps would not see it."""

IDLE = {"num_workers": 0, "prefetch_factor": None, "persistent_workers": False, "timeout": 0}
"""An iterator that is created during the second time must not begin to load."""


@dataclass(slots=True, eq=False)
class Feed:
    """One training loader's batches. A loader that replaces one that is gone continues its feed."""

    loader: weakref.ref[Any]
    batches: list[Any] = field(default_factory=list)
    handed_out: int = 0
    requested_ns: int = 0
    requests_ns: list[int] = field(default_factory=list)
    """When each batch was requested, on a clock that stops while we store one."""
    own_ns: int = 0


class Replay:
    """For one process. The program ends at the request after one of its training loaders gave N batches twice."""

    def __init__(self, batches: int, say: Say, now: Clock = now_ns) -> None:
        self.batches = batches
        self.result: Replayed | None = None
        """The result, once the replay is over."""
        self.ended: Callable[[], None] | None = None
        """Called with the result."""
        self.refused: str | None = None
        self._say = say
        self._now = now
        self._pid: int | None = None
        """Pid of the process that began. One forked later does not replay; one forked before has its own replay."""
        self._training = TrainingLoaders()
        self._feeds: list[Feed] = []

    def before_iter(self, loader: Any) -> None:
        """A loader is about to create or reset an iterator."""
        feed = self._feed_of(loader)
        if feed is None and self._training.has(loader):
            feed = self._new_feed(loader)
        if feed is not None and self._is_full(feed):
            vars(loader).update(IDLE)

    def adopt(self, iterator: Any, loader: Any) -> None:
        """The iterator of this loader is constructed."""
        feed = self._feed_of(loader)
        if feed is not None:
            attach(iterator, KEY, feed)

    def instead(self, iterator: Any) -> Any:
        """At a request, before torch's own code: a batch to hand out at once, or ``None``: load one.

        Raises:
            SystemExit: with 0, when all is over.
        """
        feed: Feed | None = attached(iterator, KEY)
        if feed is None or not self._is_on():
            return None
        feed.requested_ns = self._now() - feed.own_ns
        if not self._is_full(feed):
            return None
        feed.requests_ns.append(feed.requested_ns)
        if feed.handed_out == self.batches:
            self._end(feed)
        feed.handed_out += 1
        return own_containers(feed.batches[feed.handed_out - 1])

    def loaded(self, iterator: Any, batch: Any) -> None:
        """After torch's own code: this batch is about to be handed out."""
        feed: Feed | None = attached(iterator, KEY)
        if feed is None or not self._is_on():
            return
        started_ns = self._now()
        feed.requests_ns.append(feed.requested_ns)
        feed.batches.append(own_containers(batch))
        feed.own_ns += self._now() - started_ns

    def _is_on(self) -> bool:
        if self.refused is None and threading.get_ident() != threading.main_thread().ident:
            # An exception would end that thread alone, and leave the program waiting for it.
            self.refused = "the program takes its batches in a thread of its own"
            self._say(f"--replay is refused: {self.refused}")
        return self.refused is None and os.getpid() == self._pid

    def _is_full(self, feed: Feed) -> bool:
        return len(feed.batches) == self.batches

    def _feed_of(self, loader: Any) -> Feed | None:
        return next((feed for feed in self._feeds if feed.loader() is loader), None)

    def _new_feed(self, loader: Any) -> Feed:
        if not self._feeds:
            self._pid = os.getpid()
            atexit.register(self._say_what_is_missing)
        feed = next((feed for feed in self._feeds if feed.loader() is None), None)
        if feed is None:
            feed = Feed(weakref.ref(loader))
            self._feeds.append(feed)
        feed.loader = weakref.ref(loader)
        return feed

    def _end(self, feed: Feed) -> None:
        real, instant = feed.requests_ns[: self.batches + 1], feed.requests_ns[self.batches :]
        self.result = Replayed(self.batches, steps_per_s(real), steps_per_s(instant))
        self._say(sentence(self.result))
        if self.ended is not None:
            try:
                self.ended()
            except Exception as error:
                Guard().failed("replay", error)
        raise SystemExit(0)

    def _say_what_is_missing(self) -> None:
        """Called at the end of the program."""
        if self.result is None and self._is_on():
            steps = max(len(feed.requests_ns) for feed in self._feeds)
            self._say(
                f"--replay {self.batches}: the program ended after {steps} of the {2 * self.batches} steps it takes"
            )


def read_replay(environ: Mapping[str, str], say: Say) -> Replay | None:
    """The launcher's option, which it validated; ``None`` without ``--replay``."""
    batches = environ.get(launch.REPLAY)
    return Replay(int(batches), first_rank_only(environ, say)) if batches else None


def sentence(result: Replayed) -> str:
    few = f"; {result.batches} steps are too few to tell, take {ENOUGH} or more" if result.batches < ENOUGH else ""
    return (
        f"replay of {result.batches} batches: {_rate(result.real_steps_per_s)} steps/s with real data, "
        f"{_rate(result.instant_steps_per_s)} with instant data: {result.speedup:.2f} times as fast{few}"
    )


def _rate(steps_per_s: float) -> str:
    """Three digits, and thousands in full: ``.3g`` alone writes these with an exponent."""
    return f"{steps_per_s:.3g}" if steps_per_s < 999.5 else f"{steps_per_s:,.0f}"


def steps_per_s(requests_ns: Sequence[int]) -> float:
    """From the instants of consecutive requests: median over blocks of the mean step."""
    steps = len(requests_ns) - 1
    edges = [round(block * steps / min(BLOCKS, steps)) for block in range(min(BLOCKS, steps) + 1)]
    means = [(requests_ns[end] - requests_ns[start]) / (end - start) for start, end in pairwise(edges)]
    return 1e9 / max(statistics.median(means), 1)


def own_containers(batch: Any) -> Any:
    """The same tensors in new lists and dictionaries: a training loop may remove entries from those it gets.

    Tensors in shared memory are copied out of it: there is little of it, and the workers need it.
    """
    if isinstance(batch, sys.modules["torch"].Tensor) and batch.device.type == "cpu" and batch.is_shared():
        return batch.clone()
    return with_parts(batch, own_containers)
