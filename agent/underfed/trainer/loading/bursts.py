"""When it is looked what a thread executes: in short bursts, and more often in the beginning.

While a burst lasts the interpreter lock is asked for after a tenth of a millisecond, not five: else a look that falls
on Python code would wait until that code calls a library which gives the lock back, and count for the library.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from dataclasses import dataclass

from underfed.exchange.stacks import GROUPS
from underfed.host.clock import now_ns

LOOK_NS = 10_000_000
"""Between two looks of a burst, on average."""

IDLE_LOOK_S = 0.1
"""Between bursts it is only looked which sample is being loaded."""

BURST_NS = 250_000_000
EARLY_NS, EARLY_PERIOD_NS, PERIOD_NS = 20_000_000_000, 1_000_000_000, 5_000_000_000
"""A burst in every second of the loader's first 20, then in every five: a short run is seen, too. Four short ones tell
twice as well as one of a second what calls of a second take."""

ALWAYS_NS, ALWAYS_PERIOD_NS = 900_000_000, 1_000_000_000
"""``UNDERFED_STACKS=always``: what was seen is handed over when a burst ends."""

GOLDEN = 0.618034
"""The fractions of its multiples are spread evenly: workers do not all look at once, and looks fall into no step with
what they look at. No random number is drawn."""

SHIFT = 0.414214
"""Of a period, by which the burst of the next one is later: bursts fall into no step with what they look at, either."""

WORKER_SHIFT = 7
"""Groups from one worker to the next: where there were few bursts, those of several workers are in different ones."""

SWITCH_S = 0.0001

HANDED_OVER = 4
"""Periods of which what was seen is handed over together: writing it takes milliseconds. The first is by itself."""

MOST_MISSED = 10_000
"""Looks that one stands for at most."""


with suppress(ImportError):  # other systems have none, and no look is ever taken there
    import resource


def times_blocked() -> int:
    """This thread, until now."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def is_burst(age_ns: int, turn: int) -> bool:
    """``age_ns``: since the loader's first iterator."""
    period = period_ns(age_ns)
    return phase(age_ns, turn) < BURST_NS / period


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
    _phase: float = 0.0
    _left_ns: int = 0
    """Of what looks have waited, less than one counts for: with the next it may."""
    _has_counted: bool = False
    _handed_over_ns: int = 0
    """When what was counted is handed over next."""
    found_lock_free: bool = False
    """By the last look: the thread had given the lock away by itself, within what it is found at, and was not made to
    hand it over at the next place where it looks whether somebody asks."""
    _before_s: float | None = None
    """The switch interval before this burst; ``None``: there is none."""

    @property
    def is_on(self) -> bool:
        return self._before_s is not None

    def sleep(self) -> int:
        """Until the next look. Returns when that was due."""
        if self._is_due(now_ns()):
            self.begin()
            self._phase = (self._phase + GOLDEN) % 1
            pause_s = LOOK_NS / 1e9 * (0.5 + self._phase)
        else:
            self.end()
            pause_s = self._idle_s()
        due_ns = now_ns() + round(pause_s * 1e9)
        blocked_before = times_blocked()
        time.sleep(pause_s)
        # Once, by that sleep; again where the lock had to be waited for.
        self.found_lock_free = times_blocked() - blocked_before == 1
        return due_ns

    def begin(self) -> None:
        if self._before_s is None:
            self._before_s = sys.getswitchinterval()
            sys.setswitchinterval(SWITCH_S)

    def end(self) -> None:
        """The interval stays as it is where the program has set it meanwhile."""
        before_s, self._before_s = self._before_s, None
        if before_s is not None and abs(sys.getswitchinterval() - SWITCH_S) < SWITCH_S / 10:
            sys.setswitchinterval(before_s)

    def hands_over(self, now_ns: int) -> bool:
        """Whether what was counted since the last time is handed over now: not within a burst."""
        if self.is_on or not self._has_counted or now_ns < self._handed_over_ns:
            return False
        self._has_counted = False
        pause_ns = 0 if self.is_always else HANDED_OVER * period_ns(now_ns - self.since_ns)
        self._handed_over_ns = now_ns + pause_ns
        return True

    def looks(self, due_ns: int, looked_ns: int) -> int:
        """For how many a look counts that was due then: what kept the interpreter lock through a burst was there all
        the while, and is looked at once. 0: there was no burst."""
        if not self.is_on and looked_ns - due_ns < LOOK_NS:
            return 0
        pause_ns = max(LOOK_NS, (looked_ns - due_ns) // MOST_MISSED)
        waited_ns = self._left_ns + looked_ns - due_ns
        self._left_ns = waited_ns % pause_ns
        missed = sum(self._is_due(looked_ns - at) for at in range(self._left_ns, waited_ns - pause_ns + 1, pause_ns))
        count = self.is_on + missed * pause_ns // LOOK_NS
        self._has_counted = self._has_counted or count > 0
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

    def _idle_s(self) -> float:
        """Not beyond the beginning of a burst."""
        if self.is_always:
            return IDLE_LOOK_S
        left_ns = until_burst_ns(now_ns() - self.since_ns, self.turn)
        return min(IDLE_LOOK_S, max(LOOK_NS, left_ns) / 1e9)
