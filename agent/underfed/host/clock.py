"""The two clocks: a monotonic one for durations, the wall clock for the instant at which a run starts."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timezone

Clock = Callable[[], int]
"""Returns nanoseconds. Only differences are meaningful, also between processes of one host."""

now_ns: Clock = time.perf_counter_ns
"""CLOCK_MONOTONIC on Linux, mach_absolute_time on macOS: trainer, workers and collector read the same clock."""


def to_us(instant_ns: int, origin_ns: int) -> int:
    """Microseconds of the run clock, rounded to the nearest.

    Every duration is a difference of two results of this function, so that parts add up exactly.
    """
    return (instant_ns - origin_ns + 500) // 1000


def wall_clock() -> str:
    """Now, RFC 3339 in UTC, to the microsecond."""
    return datetime.now(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")


def wall_clock_ms() -> int:
    """Now, milliseconds since 1970. It may be set back: compare it with nothing of this run."""
    return time.time_ns() // 1_000_000
