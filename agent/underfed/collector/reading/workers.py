"""A rank's worker processes: when each started, how it ended, and what it used."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from underfed.collector.reading.rank_rings import Drained
from underfed.collector.reading.resume import WorkerResume
from underfed.collector.sampling.samples import Columns
from underfed.collector.wire import Worker, WorkerSamples
from underfed.exchange import ring_format
from underfed.exchange.facts import End
from underfed.exchange.run_files import RingName
from underfed.host import procfs
from underfed.host.clock import to_us
from underfed.host.connections import own_connections
from underfed.host.process_end import ProcessEnd
from underfed.host.procfs import ProcessUsage

PSS_US = 10_000_000
"""Between two samples of a worker's proportional memory (PSS)."""

PSS_WORKERS = 2
"""Sampled of each loader: all workers do the same work, and a leak shows in the slope of any of them."""

FIRST_LOOKS = 2
"""At what a worker is connected to, before its PSS is read, after which there is a long pause: a connection for each
sample is open most of the time, and not always."""

MOST_WATCHED = 64
"""Workers of one rank whose end is asked of the kernel, an open file each."""

REMEMBERED_ITERATORS = 256
"""Iterators whose epoch is kept, in case one of their workers records late."""

TOGETHER_US = 3_000_000
"""Between a worker's death and what follows it: torch raises in the training at once, which then stops the others.
Longer than samples are apart, and shorter than the 5 s that torch waits for a worker to end before it terminates it."""

SETTLED_US = 10_000_000
"""After a worker was found gone, until it counts as stopped by the training if nothing followed."""

BLAMED = re.compile(r"DataLoader worker \(pid(?:\(s\))? ([\d, ]+)\)")
"""torch's error message in the training process when a worker is gone. It is often the reason that the run ended."""

Ended = Literal["returned", "raised", "died"]
Name = Callable[[int], str]


@dataclass(slots=True)
class Life:
    """Instants are of the run clock."""

    pid: int
    start_ticks: int | None = None
    epoch_index: int | None = None
    start_us: int | None = None
    end_us: int | None = None
    ended: Ended | None = None
    gone_us: int | None = None
    """When it was first found gone, without a record that its loop ended."""
    pss_bytes: int | None = None
    """For its next sample."""
    pss_due_us: int = 0
    received_bytes: int | None = None
    connections: int | None = None
    """As it last recorded them."""
    short_connections: int = 0
    """Open while it loaded, though none is after a batch: what they receive is not counted."""
    looks: int = 0
    is_unsent: bool = True
    watched: ProcessEnd | None = None

    def end(self, at_us: int, ended: Ended | None) -> None:
        self.end_us, self.ended, self.is_unsent = at_us, ended, True
        self.leave()

    def leave(self) -> None:
        if self.watched is not None:
            self.watched.close()
            self.watched = None

    @property
    def was_killed(self) -> bool:
        """By a signal that torch does not send, as the kernel reports it, which it may do to nobody."""
        status = None if self.watched is None else self.watched.status()
        return status is not None and status < 0 and status != -signal.SIGTERM


class Workers:
    """Fed with the records of all rings; samples the processes itself. ``name`` gives a loader's name.

    ``resumed``: rings that an earlier collector knew, each with its worker, or ``None`` where that has ended.
    """

    def __init__(self, origin_ns: int, name: Name, resumed: Mapping[RingName, WorkerResume | None]) -> None:
        self.living: dict[RingName, ProcessUsage] = {}
        """As last sampled."""
        self._origin_ns = origin_ns
        self._name = name
        self._resumed = dict(resumed)
        self._lives: dict[RingName, Life] = {}
        self._epochs: dict[tuple[int, int], int] = {}
        self._iterators: dict[tuple[int, int], int] = {}
        """By loader and epoch."""
        self._failed_us: dict[tuple[int, int], int] = {}
        """When a request last raised, by loader and iterator."""
        self._samples: dict[tuple[int, int], Columns] = {}

    def feed(self, pids: Mapping[RingName, int], drained: Iterable[Drained]) -> None:
        """``pids`` are those of the writers of workers' rings."""
        for ring, pid in pids.items():
            if ring not in self._lives and self._resumed.get(ring, pid) is not None:
                self._lives[ring] = self._begin(ring, pid)
                if sum(life.watched is not None for life in self._lives.values()) < MOST_WATCHED:
                    self._lives[ring].watched = ProcessEnd(pid, None)
        for each in drained:
            life = self._lives.get(each.ring)
            for one in each.records:
                kind = one[0] & ring_format.KIND_MASK
                if kind == ring_format.EPOCH:
                    self._begin_epoch(each.ring.loader, one[1], one[0] >> ring_format.EPOCH_SHIFT, is_first=one[2] == 0)
                elif kind == ring_format.FAILED:
                    self._fail(each.ring.loader, one[0] >> ring_format.EPOCH_SHIFT, to_us(one[2], self._origin_ns))
                elif kind == ring_format.WORKER_START and life is not None:
                    life.start_us, life.is_unsent = to_us(one[1], self._origin_ns), True
                elif kind == ring_format.RECEIVED and life is not None:
                    life.received_bytes, life.connections = ring_format.known(one[1]), one[2]
                elif kind == ring_format.WORKER_END and life is not None:
                    life.end(to_us(one[1], self._origin_ns), "raised" if one[2] else "returned")

    def sample(self, at_us: int, is_training: Callable[[], bool]) -> None:
        """Once a second: which workers run, and what each uses. ``is_training`` is called after one was found gone.

        A worker that was killed has died, where the kernel reports that. Of another one that is gone while the training
        goes on it is not known at once: the training may have stopped it, as an iterator that is given up terminates
        those that do not end within seconds, in the middle of a slow load. Which of both shows once it is found gone
        a second time, when its last records have been read.
        """
        there = {ring: life for ring, life in self._lives.items() if life.end_us is None}
        self.living = {ring: usage for ring, life in there.items() if (usage := _usage_of(life)) is not None}
        gone = {ring: life for ring, life in there.items() if ring not in self.living}
        if gone and is_training():
            for ring, life in gone.items():
                if life.was_killed:
                    life.end(life.gone_us or at_us, "died")
                elif life.gone_us is None:
                    life.gone_us = at_us
                elif self._has_died(ring, life.gone_us):
                    life.end(life.gone_us, "died")
                elif at_us - life.gone_us >= SETTLED_US:
                    life.end(life.gone_us, None)
        for ring in self._newest():
            usage, life = self.living[ring], self._lives[ring]
            row = {"rss_bytes": usage.rss_bytes, "pss_bytes": life.pss_bytes, "threads": usage.threads}
            columns = self._samples.setdefault((ring.loader, ring.worker or 0), Columns())
            columns.add(at_us, {**row, "cpu_us": usage.cpu_us + usage.children_cpu_us, **_network(life)})
            life.pss_bytes = None

    def sample_costly(self, at_us: int) -> bool:
        """Read one worker's PSS and what it is connected to, if that is due, for its next sample."""
        sampled = [self._lives[ring] for ring in self._newest() if (ring.worker or 0) < PSS_WORKERS]
        if looked_at := [life for life in sampled if life.looks < FIRST_LOOKS]:
            _look(looked_at)
            return True
        for life in sampled:
            if at_us >= life.pss_due_us:
                life.pss_due_us = at_us + PSS_US
                life.pss_bytes = procfs.pss_bytes(life.pid)
                _look([life])
                return True
        return False

    def finish(self, at_us: int, end: End, is_end_marked: bool) -> None:
        """The recording has ended. The exit reason of the training process may name workers that died."""
        blamed = {int(pid) for pids in BLAMED.findall(end.exit_reason or "") for pid in pids.split(",")}
        for ring, life in self._lives.items():
            if life.end_us is None:
                was_first = life.gone_us is not None and is_end_marked
                is_why = end.status == "crashed" or self._has_died(ring, life.gone_us or at_us)
                life.end(life.gone_us or at_us, "died" if life.pid in blamed or (was_first and is_why) else None)

    def take(self) -> list[Worker]:
        """Workers about which something changed since the last call."""
        unsent = [(ring, life) for ring, life in self._lives.items() if life.is_unsent]
        for _ring, life in unsent:
            life.is_unsent = False
        return [
            Worker(
                loader=self._name(ring.loader),
                epoch_index=life.epoch_index,
                iterator_index=ring.iterator or 0,
                worker=ring.worker or 0,
                pid=life.pid,
                start_us=life.start_us,
                end_us=life.end_us,
                ended=life.ended,
            )
            for ring, life in unsent
        ]

    def take_samples(self) -> list[WorkerSamples]:
        samples, self._samples = self._samples, {}
        taken = [(self._name(loader), worker, columns.take()) for (loader, worker), columns in samples.items()]
        return [WorkerSamples(loader, worker, columns) for loader, worker, columns in taken if columns is not None]

    def send_again(self) -> None:
        """The service asked for everything."""
        for life in self._lives.values():
            life.is_unsent = True

    def is_over(self, ring: RingName) -> bool:
        """The worker has ended, and its end was reported."""
        life = self._lives.get(ring)
        return life.end_us is not None and not life.is_unsent if life is not None else ring in self._resumed

    def forget(self, ring: RingName) -> None:
        """Its ring is gone."""
        life = self._lives.pop(ring, None)
        if life is not None:
            life.leave()
        self._resumed.pop(ring, None)

    def pids(self) -> dict[int, list[int]]:
        """By loader, those of the living workers of its newest iterator."""
        found: dict[int, list[int]] = {}
        for ring in self._newest():
            found.setdefault(ring.loader, []).append(self.living[ring].pid)
        return found

    def resume(self) -> list[WorkerResume]:
        """Workers whose end was not reported yet."""
        return [
            WorkerResume(ring.loader, ring.iterator or 0, ring.worker or 0, life.start_us, life.epoch_index)
            for ring, life in self._lives.items()
            if life.end_us is None
        ]

    def _begin(self, ring: RingName, pid: int) -> Life:
        before = self._resumed.get(ring)
        if before is not None:
            return Life(pid, epoch_index=before.epoch_index, start_us=before.start_us, is_unsent=False)
        return Life(pid, epoch_index=self._epochs.get((ring.loader, ring.iterator or 0)))

    def _begin_iterator(self, loader: int, iterator: int, epoch_index: int) -> None:
        """Recorded when all its workers run."""
        self._epochs[loader, iterator] = epoch_index
        if len(self._epochs) > REMEMBERED_ITERATORS:
            del self._epochs[next(iter(self._epochs))]
        for ring, life in self._lives.items():
            if (ring.loader, ring.iterator) == (loader, iterator):
                life.epoch_index, life.is_unsent = epoch_index, True

    def _begin_epoch(self, loader: int, iterator: int, epoch_index: int, *, is_first: bool) -> None:
        """``is_first``: of its iterator."""
        self._iterators[loader, epoch_index] = iterator
        if len(self._iterators) > REMEMBERED_ITERATORS:
            del self._iterators[next(iter(self._iterators))]
        if is_first:
            self._begin_iterator(loader, iterator, epoch_index)

    def _fail(self, loader: int, epoch_index: int, at_us: int) -> None:
        iterator = self._iterators.get((loader, epoch_index))
        if iterator is not None:
            self._failed_us[loader, iterator] = at_us

    def _has_died(self, ring: RingName, gone_us: int) -> bool:
        """Of its own: others of its iterator are still there, or ended with it, or the training's request raised."""
        since_us, iterator = gone_us - TOGETHER_US, (ring.loader, ring.iterator or 0)
        mates = {
            other: life
            for other, life in self._lives.items()
            if other != ring and (other.loader, other.iterator or 0) == iterator
        }
        left_us = [life.end_us for life in mates.values() if life.ended is not None and life.end_us is not None]
        return (
            any(other in self.living for other in mates)
            or any(end_us >= since_us for end_us in left_us)
            or self._failed_us.get(iterator, since_us - 1) >= since_us
        )

    def _newest(self) -> list[RingName]:
        """The living workers of each loader's newest iterator."""
        newest: dict[int, int] = {}
        for ring in self.living:
            newest[ring.loader] = max(ring.iterator or 0, newest.get(ring.loader, 0))
        return [ring for ring in self.living if ring.iterator == newest[ring.loader]]


def _look(lives: Sequence[Life]) -> None:
    """Whether they are connected now."""
    unseen = [life for life in lives if not life.connections]
    found = own_connections(life.pid for life in unseen)
    for life in unseen:
        life.short_connections = found[life.pid] or life.short_connections
    for life in lives:
        life.looks += 1


def _network(life: Life) -> dict[str, int | None]:
    if life.short_connections and not life.connections:
        return {"received_bytes": None, "connections": life.short_connections}
    return {"received_bytes": life.received_bytes, "connections": life.connections}


def _usage_of(life: Life) -> ProcessUsage | None:
    """A later process with the same pid is another."""
    usage = procfs.usage(life.pid)
    if usage is None:
        return None
    if life.start_ticks is None:
        life.start_ticks = usage.start_ticks
    return usage if usage.start_ticks == life.start_ticks else None
