"""When it is looked what a thread executes: in short bursts, and more often in the beginning.

While a burst lasts the interpreter lock is asked for after a hundredth or a tenth of a millisecond, not five: else a
look that falls on Python code would wait until that code calls a library which gives the lock back, and count for the
library. As soon as a look has the lock, it is five again: else the thread that is looked at has it back before its
frames are read, and both take turns.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from underfed.exchange.stacks import GROUPS
from underfed.host.clock import now_ns
from underfed.trainer.loading.caught_stack import Caught, caught_after

LOOK_NS = 10_000_000
"""A look of a burst is due in each of these, at a time that does not depend on when the one before it came: were it due
some time after that, calls that keep the interpreter lock would set the times at which it is looked, as looks come when
they end, and the longer of two calls in turn would be found again and again."""

IDLE_LOOK_NS = 100_000_000
"""Between bursts it is only looked which sample is being loaded."""

BURST_NS, PERIOD_NS = 250_000_000, 5_000_000_000
EARLY_BURST_NS, EARLY_PERIOD_NS, EARLY_NS = 125_000_000, 1_000_000_000, 40_000_000_000
"""A burst in every second of the loader's first 40, then one twice as long in every five: a short run is seen, too.
Four short ones tell twice as well as one of a second what calls of a second take. An eighth of the time is as much as
costs less than half a per cent of most loading (``docs/hotspots.md``)."""

ALWAYS_NS, ALWAYS_PERIOD_NS = 900_000_000, 1_000_000_000
"""``UNDERFED_STACKS=always``: what was seen is handed over when a burst ends."""

GOLDEN = 0.618034
"""The fractions of its multiples are spread evenly: workers do not all look at once. Those of its multiples by squares
are spread as if they were random: looks, which delay what they look at, fall into no step with it. No random number is
drawn."""

SQUARED = 4_096
"""Turns until these squares begin anew: larger ones leave no digits to the fractions."""

SHIFT = 0.414214
"""Of a period, by which the burst of the next one is later: bursts fall into no step with what they look at, either."""

WORKER_SHIFT = 7
"""Groups from one worker to the next: where there were few bursts, those of several workers are in different ones."""

SWITCH_US = (10, 100)
"""After how long the interpreter lock is asked for in a burst, at least and at most. Whoever waits for it waits anew
each time that it is given back, so code that holds it for less than this, before a call that gives it back, is found at
that call. The less, the more often the thread that looks wakes up while a call keeps the lock."""

WAKES = (5, 20)
"""Of the thread that looks, while one look waited for the lock: with fewer the next asks sooner, with more later."""

LATE_NS = 200_000
"""After it was due, from which a look that waited for the lock once is late: it had no core until the thread that it
looks at gave the lock away by itself. One that has a core wakes up to ask for the lock, and waits again. On a virtual
machine one that is in time takes up to 140 us."""

HANDED_OVER = 4
"""Periods of which what was seen is handed over together: writing it takes milliseconds. The first is by itself."""

MOST_MISSED = 10_000
"""Looks that one stands for at most."""

BUDGET, BUDGET_AT_FIRST_NS = 0.005, 2_000_000
"""Of elapsed time, and as looking begins: what the thread that looks may have taken of a core as a burst begins; else
the burst is skipped. Beside calls that keep the interpreter lock for milliseconds a burst takes 3 % of a core, beside
others 1 to 2 %."""


with suppress(ImportError):  # other systems have none, and no look is ever taken there
    import resource


def times_blocked() -> int:
    """This thread, until now."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def is_burst(age_ns: int, turn: int) -> bool:
    """``age_ns``: since the loader's first iterator."""
    burst_ns = EARLY_BURST_NS if age_ns < EARLY_NS else BURST_NS
    return phase(age_ns, turn) < burst_ns / period_ns(age_ns)


def until_burst_ns(age_ns: int, turn: int) -> int:
    """Between bursts, or at most until the period ends."""
    period = period_ns(age_ns)
    return min(round((1 - phase(age_ns, turn)) * period), period - age_ns % period)


def period_ns(age_ns: int) -> int:
    return EARLY_PERIOD_NS if age_ns < EARLY_NS else PERIOD_NS


def phase(age_ns: int, turn: int) -> float:
    """Of its period, since the burst began."""
    number, within = divmod(age_ns, period_ns(age_ns))
    return (within / period_ns(age_ns) + number * SHIFT + turn * GOLDEN) % 1


@dataclass(slots=True, eq=False)
class Bursts:
    """Of one thread that looks."""

    since_ns: int
    """When the loader's first iterator was constructed."""
    is_always: bool = False
    turn: int = 0
    """A worker's number."""
    _has_counted: bool = False
    _handed_over_ns: int = 0
    """When what was counted is handed over next."""
    _waits: int = 0
    """Of the last look, for the lock."""
    _owed: int = 0
    """Looks that came late, until one that waits for the lock does not."""
    _before_s: float | None = None
    """The switch interval before this burst; ``None``: there is none."""
    _switch_us: int = SWITCH_US[0]
    """That of a burst, while looks wait."""
    _set_s: float = 0.0
    """The one that was set last, as it is read back."""
    _began: tuple[int, int] | None = None
    """When it was looked first, and what the thread that looks had taken of a core by then."""
    _is_skipped: bool | None = None
    """The burst that is due; ``None``: none is."""
    _skipped: int = 0
    """Bursts since one was not."""
    _stands_for: int = 1
    """Bursts, with those skipped before it: what is costly to look at is seen less often, and counts as much."""

    @property
    def found_lock_free(self) -> bool:
        """By the last look: the thread had given the lock away by itself, within what it is found at, and was not made
        to hand it over at the next place where it looks whether somebody asks."""
        return self._waits == 0

    @property
    def is_on(self) -> bool:
        return self._before_s is not None

    def sleep(self, ident: int, state: Callable[[], Any] = bool) -> tuple[int, Caught, Any]:
        """Until the next look. Returns when that was due, what the thread of that identity executes then, and what
        ``state``, written in C, returns then."""
        asked_ns = now_ns()
        due_ns = self._next_due_ns(asked_ns)
        if self._is_due(due_ns) and not self._skips(asked_ns):
            self.begin()
        else:
            self.end()
            if not self._is_due(due_ns):
                self._is_skipped = None
            due_ns = asked_ns + self._idle_ns(asked_ns)
        self._ask_after(self._switch_us / 1e6)
        blocked_before = times_blocked()
        stack, known = caught_after(max(0, due_ns - now_ns()) / 1e9, ident, state)
        self._ask_after(self._before_s)
        # Once, by that sleep; again each time that the lock was waited for.
        self._waits = times_blocked() - blocked_before - 1
        if self.is_on:
            self._adapt()
        return due_ns, stack, known

    def _skips(self, asked_ns: int) -> bool:
        """Whether the burst that is due is skipped, which is decided as it begins."""
        if self._began is None:
            self._began = asked_ns, time.thread_time_ns()
        if self._is_skipped is None:
            began_ns, taken_before_ns = self._began
            may_have_taken_ns = BUDGET_AT_FIRST_NS + BUDGET * (asked_ns - began_ns)
            self._is_skipped = not self.is_always and time.thread_time_ns() - taken_before_ns > may_have_taken_ns
            if self._is_skipped:
                self._skipped += 1
            else:
                self._stands_for, self._skipped = 1 + self._skipped, 0
        return self._is_skipped

    def _adapt(self) -> None:
        at_least, at_most = SWITCH_US
        fewer, more = WAKES
        if self._waits < fewer:
            switch_us = max(at_least, self._switch_us // 2)
        elif self._waits > more:
            switch_us = min(at_most, self._switch_us * 2)
        else:
            return
        self._switch_us = switch_us

    def begin(self) -> None:
        if self._before_s is None:
            self._before_s = self._set_s = sys.getswitchinterval()

    def end(self) -> None:
        self._ask_after(self._before_s)
        self._before_s = None

    def _ask_after(self, seconds: float | None) -> None:
        """In a burst. The interval stays as it is where the program has set it meanwhile."""
        if self._before_s is not None and seconds is not None and sys.getswitchinterval() == self._set_s:
            sys.setswitchinterval(seconds)
            self._set_s = sys.getswitchinterval()

    def hands_over(self, now_ns: int) -> bool:
        """Whether what was counted since the last time is handed over now: not within a burst."""
        if self.is_on or not self._has_counted or now_ns < self._handed_over_ns:
            return False
        self._has_counted = False
        pause_ns = 0 if self.is_always else HANDED_OVER * period_ns(now_ns - self.since_ns)
        self._handed_over_ns = now_ns + pause_ns
        return True

    def looks(self, due_ns: int, looked_ns: int) -> int:
        """For how many a look counts that was due then: all that were due since. What kept the interpreter lock through
        a burst was there all the while, and is looked at once. So do those of bursts that were skipped before. 0: none
        was due, or it came late.

        When a late one was due the lock was kept, and it finds what gave the lock away since. It counts for what keeps
        the lock: as the next does that waits for it and is in time.
        """
        if self._is_skipped:
            return 0
        first, last = ((at - self.since_ns) // LOOK_NS for at in (due_ns, looked_ns))
        each = max(1, (last - first) // MOST_MISSED)
        due = (self._due_ns(turn) for turn in range(first, last + 1, each))
        count = self._stands_for * each * sum(due_ns <= at <= looked_ns and self._is_due(at) for at in due)
        if self._waits == 1 and looked_ns - due_ns > LATE_NS:
            self._owed += count
            return 0
        if count and self._waits > 0:
            count, self._owed = count + self._owed, 0
        if count:
            self._has_counted = True
        return count

    def group(self, looked_ns: int) -> int:
        """That the burst is counted in."""
        age_ns = looked_ns - self.since_ns
        return (age_ns // EARLY_PERIOD_NS + self.turn * WORKER_SHIFT) % GROUPS

    def _is_due(self, at_ns: int) -> bool:
        age_ns = at_ns - self.since_ns
        if self.is_always:
            return age_ns % ALWAYS_PERIOD_NS < ALWAYS_NS
        return is_burst(age_ns, self.turn)

    def _due_ns(self, turn: int) -> int:
        """When the look is due that is due in this turn, of ``LOOK_NS`` each, since the loader's first iterator."""
        phase = ((turn % SQUARED) ** 2 * GOLDEN + self.turn * SHIFT) % 1
        return self.since_ns + round((turn + phase) * LOOK_NS)

    def _next_due_ns(self, at_ns: int) -> int:
        turn = (at_ns - self.since_ns) // LOOK_NS
        due_ns = self._due_ns(turn)
        return due_ns if due_ns > at_ns else self._due_ns(turn + 1)

    def _idle_ns(self, at_ns: int) -> int:
        """Not beyond the beginning of a burst."""
        if self.is_always:
            return IDLE_LOOK_NS
        return min(IDLE_LOOK_NS, max(LOOK_NS, until_burst_ns(at_ns - self.since_ns, self.turn)))
