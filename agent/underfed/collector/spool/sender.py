"""Sends what the spool holds, in order, one window at a time, until the service has it."""

from __future__ import annotations

import random
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from typing import Any

from underfed.collector.spool.judged_windows import JudgedWindows
from underfed.collector.spool.segment import SpooledWindow
from underfed.collector.spool.spool import Spool
from underfed.collector.spool.transport import Reply, Transport
from underfed.collector.wire import with_previous

FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 30.0
HURRIED_DELAY_S = 1.0
NEVER = (400, 413, 415)
"""Answers to a window that no repetition makes acceptable, see docs/wire.md. A proxy may give them too, for reasons of
its own that pass: only with the service's own code they count."""

LOGGED_FAILURES = 20
"""Most errors, of ours or of the spool's disk, that are logged; later ones are like them."""

PEEK_S = 5.0

ASK_PAUSE_S = 0.25
"""Between two posts of a window that was sent, while the verdict is waited for: the service judges once a second."""

SILENT_S = 2.0
"""After which a post without an answer counts as a service that does not answer: it usually takes milliseconds, and the
end of a tracker's run waits three seconds."""

VERDICT_S = 60.0
"""How long a verdict is shown that the service has not repeated since: each of its answers has one."""


class Outcome(Enum):
    EMPTY = "nothing to send"
    SENT = "one window left the spool, or the sequence was repaired"
    LATER = "the service did not take it; try again after a while"


class Sender:
    """One thread calls ``send_one`` or ``run``; others may read the attributes."""

    def __init__(self, spool: Spool, transport: Transport) -> None:
        self._spool = spool
        self._transport = transport
        self._failures = 0
        self._logged = 0
        self._last = Reply(None)
        self._next_indexes: dict[str, int] = {}
        """Streams in which a window that the service waits for is no longer in the spool."""
        self._rejected: dict[str, int] = {}
        """The newest window of each stream that the service rejected for good."""
        self._replies: dict[str, Reply] = {}
        """Of each stream what the service answered since that was taken."""
        self._longest_delay_s = LONGEST_DELAY_S
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._verdict: Mapping[str, Any] | None = None
        self._verdict_until = 0.0
        self._judged = JudgedWindows()
        self._sent: bytes | None = None
        """The newest window that the service has, as it was sent."""
        self._is_asking = False
        self._posted_at: float | None = None
        """When the post began that has no answer yet."""

    @property
    def verdict(self) -> Mapping[str, Any]:
        """What the service judged of the run, by its last answers; empty where that is not known."""
        return self._verdict if self._verdict is not None and time.monotonic() < self._verdict_until else {}

    @property
    def judged(self) -> Mapping[str, int]:
        """By stream, the newest window that ``verdict`` is known to include. Whoever reads it first has
        a verdict that is as new, or newer."""
        return self._judged.newest

    @property
    def is_failing(self) -> bool:
        """Whether the last attempt failed, or the present one has had no answer for ``SILENT_S``."""
        posted_at = self._posted_at
        return self._failures > 0 or (posted_at is not None and time.monotonic() - posted_at >= SILENT_S)

    @property
    def reason(self) -> str:
        """Why the last attempt failed."""
        return self._last.reason

    def take_replies(self) -> dict[str, Reply]:
        """By stream, what the service answered since the last call: whether its ``run`` and ``loaders`` are asked for
        again, the newest settings that it proposes for trials, and what other hosts of the run reported last."""
        with self._lock:
            replies, self._replies = self._replies, {}
            return replies

    def run(self, stop: threading.Event) -> None:
        """Send until ``stop`` is set, whatever happens: without this thread nothing leaves the spool."""
        while not stop.is_set():
            try:
                outcome = self.send_one(ASK_PAUSE_S if self._is_asking else PEEK_S)
                if outcome is Outcome.EMPTY and self._is_asking:
                    self.ask_again()
            except Exception as error:
                outcome = self._failed(error)
            if outcome is Outcome.LATER:
                self._wake.wait(self.delay_s())
                self._wake.clear()

    def ask(self, is_asking: bool) -> None:
        """Whether the verdict is waited for: while nothing is to be sent, the service is asked for it."""
        was_asking, self._is_asking = self._is_asking, is_asking
        if is_asking and not was_asking:
            self._spool.wake()

    def ask_again(self) -> None:
        """Post the newest window again: it is acknowledged without a write, and with the verdict of now."""
        if self._sent is not None:
            begun = time.monotonic()
            reply = self._post(self._sent)
            if reply.status == 200 and reply.next_window_index is not None:
                self._take_verdict(reply, begun)

    def hurry(self) -> None:
        """The collector will end soon: try now, and then about once a second."""
        self._longest_delay_s = HURRIED_DELAY_S
        self._wake.set()

    def delay_s(self) -> float:
        """Delay before the next attempt: what the service asked for, else doubling, with jitter."""
        if self._last.retry_after_s is not None:
            return min(self._longest_delay_s, self._last.retry_after_s) + random.uniform(0, FIRST_DELAY_S)
        longest = min(self._longest_delay_s, FIRST_DELAY_S * 2 ** min(self._failures - 1, 16))
        return random.uniform(longest / 2, longest)

    def send_one(self, timeout_s: float = 0.0) -> Outcome:
        """Send the oldest window; wait for one at most ``timeout_s``."""
        frame = self._spool.peek(timeout_s)
        if frame is None:
            return Outcome.EMPTY
        begun = time.monotonic()
        reply = self._post(self._body(frame))
        self._last = reply
        outcome = self._act(frame, reply, begun)
        self._failures = self._failures + 1 if outcome is Outcome.LATER else 0
        return outcome

    def _post(self, body: bytes) -> Reply:
        self._posted_at = time.monotonic()
        try:
            return self._transport.post(body)
        finally:
            self._posted_at = None

    def _failed(self, error: Exception) -> Outcome:
        self._failures += 1
        self._logged += 1
        self._last = Reply(None, reason=f"{type(error).__name__}: {error}")
        if self._logged <= LOGGED_FAILURES:
            with suppress(OSError):  # the log may lie on a full disk too
                traceback.print_exc(file=sys.stderr)
        return Outcome.LATER

    def _act(self, frame: SpooledWindow, reply: Reply, begun: float) -> Outcome:
        """``begun``: when the window was posted."""
        stream = frame.label.stream
        # Without the index the answer is a proxy's or incomplete: sending the window again costs one post.
        if reply.status == 200 and reply.next_window_index is not None:
            self._next_indexes.pop(stream, None)
            self._spool.acknowledge(frame)
            self._sent = frame.body
            self._judged.acknowledged(stream, frame.label.window_index, time.monotonic())
            self._take_verdict(reply, begun)
            with self._lock:
                self._replies[stream] = reply.after(self._replies.get(stream))
            return Outcome.SENT
        if reply.status in NEVER and reply.code is not None:
            self._spool.reject(frame)
            self._rejected[stream] = frame.label.window_index
            self._judged.acknowledged(stream, frame.label.window_index, time.monotonic())
            return Outcome.SENT
        if reply.status == 409 and reply.next_window_index is not None:
            return self._repair_sequence(frame, reply.next_window_index)
        return Outcome.LATER

    def _take_verdict(self, reply: Reply, begun: float) -> None:
        """``begun``: when it was asked. The verdict is at most so much older than that as the answer says."""
        now = time.monotonic()
        self._verdict, self._verdict_until = reply.verdict, now + VERDICT_S
        if reply.verdict is not None:
            # An older service does not say: any verdict counts as one on all that it has.
            self._judged.judged(now if reply.verdict_age_s is None else begun - reply.verdict_age_s)

    def _repair_sequence(self, frame: SpooledWindow, next_index: int) -> Outcome:
        """The service lacks an earlier window: send it again, or report that it is gone."""
        stream = frame.label.stream
        is_rejected = self._rejected.get(stream, -1) >= next_index
        if not is_rejected and self._spool.go_back(stream, next_index):
            return Outcome.SENT
        if self._next_indexes.get(stream) == next_index:
            return Outcome.LATER  # that was reported already
        self._next_indexes[stream] = next_index
        return Outcome.SENT

    def _body(self, frame: SpooledWindow) -> bytes:
        next_index = self._next_indexes.get(frame.label.stream)
        if next_index is None:
            return frame.body
        return with_previous(frame.body, next_index - 1 if next_index else None)
