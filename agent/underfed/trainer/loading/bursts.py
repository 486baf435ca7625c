"""When it is looked what a thread executes: in short bursts, and more often in the beginning.

While a burst lasts the interpreter lock is asked for after a tenth of a millisecond, not five: else a look that falls
on Python code would wait until that code calls a library which gives the lock back, and count for the library.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from underfed.host.clock import now_ns

LOOK_NS = 10_000_000
"""Between two looks of a burst, on average."""

IDLE_LOOK_S = 0.1
"""Between bursts it is only looked which sample is being loaded."""

BURST_NS = 1_000_000_000
EARLY_NS, EARLY_PERIOD_NS, PERIOD_NS = 20_000_000_000, 4_000_000_000, 20_000_000_000
"""A burst every 4 s in the loader's first 20 s, then every 20 s: a short run is seen, too."""

ALWAYS_NS, ALWAYS_PERIOD_NS = 900_000_000, 1_000_000_000
"""``UNDERFED_STACKS=always``: what was seen is handed over when a burst ends."""

GOLDEN = 0.618034
"""The fractions of its multiples are spread evenly: workers do not all look at once, and looks fall into no step with
what they look at. No random number is drawn."""

SWITCH_S = 0.0001


def is_burst(age_ns: int, turn: int) -> bool:
    """``age_ns``: since the loader's first iterator."""
    period = EARLY_PERIOD_NS if age_ns < EARLY_NS else PERIOD_NS
    return (age_ns / period + turn * GOLDEN) % 1 < BURST_NS / period


@dataclass(slots=True, eq=False)
class Bursts:
    """Of one thread that looks."""

    since_ns: int
    """When the loader's first iterator was constructed."""
    is_always: bool = False
    turn: int = 0
    """A worker's number."""
    _phase: float = 0.0
    _before_s: float | None = None
    """The switch interval before this burst; ``None``: there is none."""

    @property
    def is_on(self) -> bool:
        return self._before_s is not None

    def sleep(self) -> int:
        """Until the next look. Returns when that was due."""
        if self._is_due():
            self.begin()
            self._phase = (self._phase + GOLDEN) % 1
            pause_s = LOOK_NS / 1e9 * (0.5 + self._phase)
        else:
            self.end()
            pause_s = IDLE_LOOK_S
        due_ns = now_ns() + round(pause_s * 1e9)
        time.sleep(pause_s)
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

    def _is_due(self) -> bool:
        age_ns = now_ns() - self.since_ns
        if self.is_always:
            return age_ns % ALWAYS_PERIOD_NS < ALWAYS_NS
        return is_burst(age_ns, self.turn)
