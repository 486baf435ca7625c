"""The life of a collector: serves every rank of one run on this host, until all have ended and all was sent."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress

from underfed.collector.rank_stream import RankStream
from underfed.collector.ranks import RankStreams
from underfed.collector.spool.sender import Sender
from underfed.collector.spool.spool import Spool
from underfed.exchange import run_files
from underfed.exchange.parts import write_part

TICK_S = 0.25
"""A ring of 4,096 steps is read four times a second: only steps below 70 µs could outrun that."""

CHECK_S = TICK_S / 4
"""Between ticks only the ends of ranks are checked; once all are read and gone, whether everything was sent."""

LAST_TICK_S = 0.02
"""Between ticks once all ranks left, until all know that everything was read: their processes wait for that."""

LINGER_S = 10.0
"""How long windows are sent after the end; the rest waits for ``underfed push``."""

STOP_GRACE_S = 25.0
"""How long the collector goes on after SIGTERM: a job that is stopped has 30 s (SLURM's KillWait, Kubernetes' grace
period), which are recorded too."""

READ_S = 2.0
"""How long a process has to read how much is unsent, or to end."""


TRACKERS_S = 3.0
"""How long the last figures have to reach MLflow and TensorBoard: in a container all ends with the first process."""


class Collector:
    """``sender`` runs on a thread of its own, so that a slow service never delays the reading of the rings, and so does
    ``sweep``, which is called once."""

    def __init__(
        self, ranks: RankStreams, spool: Spool, sender: Sender, sweep: Callable[[], None] = lambda: None
    ) -> None:
        self._ranks = ranks
        self._spool = spool
        self._sender = sender
        self._sweep = sweep
        self._reported_at: dict[str, float] = {}
        self._leave_at = float("inf")

    def stop_later(self) -> None:
        """End with the ranks, or without them after ``STOP_GRACE_S``. From a signal handler."""
        self._leave_at = min(self._leave_at, time.monotonic() + STOP_GRACE_S)

    def run(self, linger_s: float = LINGER_S) -> None:
        """Serve until nothing is left to do, or ``linger_s`` after the end of the last rank."""
        stop = threading.Event()
        sending = threading.Thread(target=self._sender.run, args=(stop,), daemon=True)
        sending.start()
        threading.Thread(target=self._sweep_once, daemon=True).start()
        try:
            self._serve(linger_s)
            for stream in self._ranks.ended:
                self._ranks.remove(stream)
        finally:
            stop.set()
            self._spool.wake()
            self._ranks.wait_for_trackers(TRACKERS_S)
            sending.join(TICK_S)

    def _sweep_once(self) -> None:
        try:
            self._sweep()
        except Exception:
            with suppress(OSError):  # the log may lie on a full disk too
                traceback.print_exc(file=sys.stderr)

    def _serve(self, linger_s: float) -> None:
        deadline = None
        is_hurried = False
        while time.monotonic() < self._leave_at and (
            deadline is None or (time.monotonic() < deadline and not self._is_done())
        ):
            self._ranks.receive(self._sender.take_replies(), self._spool.take_holes())
            self._ranks.judged, self._ranks.verdict = self._sender.judged, self._sender.verdict
            self._ranks.is_answered = not self._sender.is_failing
            self._ranks.tick()
            self._sender.ask(self._ranks.await_verdict())
            self._release_ended()
            if not self._ranks.have_ended():
                deadline = None
            elif deadline is None:
                deadline = time.monotonic() + linger_s
            if self._ranks.have_left():
                if not is_hurried:
                    is_hurried = True
                    self._sender.hurry()
                self._ranks.wait(LAST_TICK_S if self._is_one_waiting_for_us() else CHECK_S)
            else:
                self._wait_for_next_tick()

    def _wait_for_next_tick(self) -> None:
        """A process that has marked its end waits for the collector, so the wait is cut short then."""
        due = time.monotonic() + TICK_S
        while time.monotonic() < due and not self._ranks.is_one_waiting() and not self._ranks.wait(CHECK_S):
            known = self._ranks.judged, self._ranks.verdict
            if self._ranks.await_verdict() and (self._sender.judged, self._sender.verdict) != known:
                break

    def _is_done(self) -> bool:
        return self._ranks.have_ended() and not self._ranks.ended and not self._spool.unsent

    def _is_one_waiting_for_us(self) -> bool:
        return any(stream.name not in self._reported_at for stream in self._ranks.left)

    def _release_ended(self) -> None:
        """Report to ranks that left how much is unsent; remove their directories once they have ended, and had time to
        read it."""
        for stream in self._ranks.left:
            reported_at = self._reported_at.get(stream.name)
            if reported_at is None:
                self._report(stream)
            elif stream.has_ended and self._is_over(stream, reported_at):
                self._ranks.remove(stream)

    def _is_over(self, stream: RankStream, reported_at: float) -> bool:
        has_read = self._has_read(stream) or time.monotonic() - reported_at > READ_S
        return has_read and not stream.awaits_verdict

    def _has_read(self, stream: RankStream) -> bool:
        """The process removes the file when it has read it."""
        return not (stream.directory / run_files.DRAINED).exists() or not stream.is_running()

    def _report(self, stream: RankStream) -> None:
        """Not while sending succeeds: then soon nothing may be left."""
        if self._spool.unsent and not self._sender.is_failing:
            return
        self._reported_at[stream.name] = time.monotonic()
        # Memory is full or the directory was removed: the process waits for its time limit.
        with suppress(OSError):
            write_part(stream.directory / run_files.DRAINED, {"unsent": self._spool.unsent})
