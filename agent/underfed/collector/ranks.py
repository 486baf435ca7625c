"""All ranks of one run on this host: found, read together, sampled and closed into windows."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from underfed.collector.rank_stream import RankStream
from underfed.collector.reading.ends import SeenEnd
from underfed.collector.sampling.host_and_gpus import HostAndGpus
from underfed.collector.sampling.samples import CostlyPace
from underfed.collector.spool.spool import Spool
from underfed.collector.spool.transport import Reply
from underfed.collector.trackers.tracker_writer import TrackerWriter
from underfed.exchange.parts import write_part
from underfed.exchange.ring import SETTLE_S
from underfed.exchange.run_files import rank_directories
from underfed.exchange.tuning import PROPOSED
from underfed.host.files import remove_directory
from underfed.host.process_end import wait_for_one

Result = TypeVar("Result")

TICK_S = 1.0
"""Between two looks at all ranks; in each some of them close a window."""

WINDOWS_A_TICK = 2
"""Of all ranks: closing, storing and sending one costs 2 ms, so eight would be 1.6 % of a core."""

MOST_TURNS = 4
"""Ticks between two windows of a rank, however many there are: a live stream must send one every five seconds."""

FAILURES = 20
"""A stream that fails this often is abandoned; the next collector reads its rings."""


def ticks_between_windows(ranks: int) -> int:
    """Of each of so many ranks on this host: they take turns."""
    return min(MOST_TURNS, -(-ranks // WINDOWS_A_TICK))


class RankStreams:
    """Streams by their directories, in the order of ranks."""

    def __init__(self, run_directory: Path, spool: Spool, host: HostAndGpus) -> None:
        self._run_directory = run_directory
        self._spool = spool
        self._host = host
        self._streams: dict[Path, RankStream] = {}
        self._failures: dict[Path, int] = {}
        self._marks: list[str] = []
        self._ticks = 0
        self._window_due = 0.0
        self._pace = CostlyPace()
        self._leaving: list[TrackerWriter] = []
        self.verdict: Mapping[str, Any] = {}
        """On the run, for its training processes to read; see ``Sender.verdict``."""
        self.judged: Mapping[str, int] = {}
        """By stream, the newest window that the verdict is known to include; see ``Sender.judged``."""
        self.is_answered = True
        """The service answers."""

    @property
    def seen(self) -> set[Path]:
        return {*self._streams, *self._failures}

    @property
    def ended(self) -> list[RankStream]:
        """Those whose last window is in the spool."""
        return [stream for stream in self._streams.values() if stream.has_ended]

    @property
    def left(self) -> list[RankStream]:
        """Those whose records are all in the spool: the process has ended, or is on its way."""
        return [stream for stream in self._streams.values() if stream.has_left]

    def have_ended(self) -> bool:
        """All, except those that were abandoned."""
        return not self._active()

    def have_left(self) -> bool:
        return all(stream.has_left for stream in self._active())

    def await_verdict(self) -> bool:
        """Whether one waits for the verdict, since a run of its tracker ends."""
        return any(stream.awaits_verdict for stream in self._streams.values())

    def wait(self, timeout_s: float) -> bool:
        """Wait at most so long for the end of a process. Returns whether one has ended."""
        return wait_for_one((each.process_end for each in self._active() if each.process_end is not None), timeout_s)

    def is_one_waiting(self) -> bool:
        """Whether a rank marked its end since the last tick, or asked for its verdict."""
        return any(os.access(mark, os.F_OK) for mark in self._marks)  # a third of what Path.exists() costs

    def tick(self) -> None:
        """Read rings that fill fast; once a second read all, take samples and close windows. A rank's last window is
        closed as soon as the rank has ended."""
        is_due = time.monotonic() >= self._window_due
        if is_due:
            self._window_due = time.monotonic() + TICK_S
            self._ticks += 1
            self._discover()
        for stream in [stream for stream in self._active() if stream.has_left]:
            if (seen := self._try(stream, stream.seen_end)) is not None:
                self._try(stream, partial(self._close_window, stream, seen))
        streams = [stream for stream in self._active() if not stream.has_left]
        self._marks = [str(stream.end_mark) for stream in streams]
        self._marks += [str(stream.wanted_mark) for stream in streams if not stream.awaits_verdict]
        # Checked before the rings are marked, so that everything written before the end is read.
        asked = [stream for stream in streams if is_due or self._try(stream, stream.is_due)]
        ends = {stream.directory: self._try(stream, stream.seen_end) for stream in asked}
        for stream in streams:
            if ends.get(stream.directory) is not None:
                self._try(stream, stream.check_workers_at_end)
        # A rank with few records is drained only for its windows: waking up is the main cost.
        hurried = [stream for stream in streams if self._try(stream, stream.is_hurried)]
        awaiting = [stream for stream in streams if self._try(stream, stream.is_verdict_wanted)]
        hurried += awaiting
        wanted = [*asked, *hurried]
        drained = [stream for stream in streams if self._try(stream, stream.mark) or is_due or stream in wanted]
        if drained:
            time.sleep(SETTLE_S)
        for stream in drained:
            self._try(stream, stream.drain)
        if is_due:
            self._sample([stream for stream in streams if ends[stream.directory] is None])
        turns = ticks_between_windows(len(streams))
        for index, stream in enumerate(streams):
            end = ends.get(stream.directory)
            if end is not None or stream in hurried or (is_due and (self._ticks + index) % turns == 0):
                self._try(stream, partial(self._close_window, stream, end))
        for stream in awaiting:
            stream.await_verdict()
        for stream in self._streams.values():
            judged = self.judged.get(stream.name, -1)
            self._try(stream, partial(stream.publish, self.verdict, judged, is_answered=self.is_answered))

    def receive(self, replies: Mapping[str, Reply], holes: set[str]) -> None:
        """``replies``: by stream, what the service answered. ``holes``: streams of which a window was dropped."""
        for stream in self._active() if replies or holes else ():
            reply = replies.get(stream.name, Reply(None))
            if reply.wants_run or stream.name in holes:
                stream.send_again()
            if reply.tuning is not None:
                self._try(stream, partial(write_part, stream.directory / PROPOSED, reply.tuning))
            if reply.switch is not None:
                self._try(stream, partial(stream.receive, reply.switch))

    def remove(self, stream: RankStream) -> None:
        """Remove a rank: all of its records are in the spool."""
        stream.close()
        self._leaving.append(stream.trackers)
        del self._streams[stream.directory]
        remove_directory(stream.directory)

    def wait_for_trackers(self, timeout_s: float) -> None:
        """Until the last figures of ranks that were removed are logged, or for so long."""
        until = time.monotonic() + timeout_s
        for each in self._leaving:
            each.wait(max(0.0, until - time.monotonic()))

    def _discover(self) -> None:
        for directory in rank_directories(self._run_directory):
            if directory not in self._streams and self._failures.get(directory, 0) < FAILURES:
                try:
                    self._streams[directory] = RankStream(directory, self._spool)
                except Exception:
                    self._log_failure(directory)
        self._streams = dict(sorted(self._streams.items()))

    def _sample(self, streams: list[RankStream]) -> None:
        running = [stream for stream in streams if stream.is_running()]
        try:
            host, gpus = self._host.sample(stream.origin for stream in running)
        except Exception:
            self._log_failure(self._run_directory)
            host, gpus = None, []
        for stream in running:
            self._try(stream, partial(stream.sample, host, gpus))
            host, gpus = None, []  # the first rank sends them for all
        if running and self._pace.is_due():
            next_stream = min(running, key=lambda stream: stream.costly_at_us)
            with self._pace.measuring():
                self._try(next_stream, next_stream.sample_costly)

    def _close_window(self, stream: RankStream, end: SeenEnd | None) -> None:
        had_ended = stream.has_ended
        stream.close_window(self._host.part(stream.origin), end)
        if stream.has_ended and not had_ended and stream.logs_verdict:
            stream.await_verdict()

    def _active(self) -> list[RankStream]:
        return [
            stream
            for path, stream in self._streams.items()
            if not stream.has_ended and self._failures.get(path, 0) < FAILURES
        ]

    def _try(self, stream: RankStream, action: Callable[[], Result]) -> Result | None:
        """An error in one rank does not stop the others: it is counted, and written to the collector's log."""
        try:
            return action()
        except Exception:
            stream.failures += 1
            self._log_failure(stream.directory)
            return None

    def _log_failure(self, directory: Path) -> None:
        self._failures[directory] = self._failures.get(directory, 0) + 1
        if self._failures[directory] <= FAILURES:
            with suppress(OSError):  # the log may lie on a full disk too
                traceback.print_exc(file=sys.stderr)
