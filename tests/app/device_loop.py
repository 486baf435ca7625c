"""A training loop and a device that works through what it is given, as an agent records them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64]


@dataclass(frozen=True)
class Recorded:
    step: Column
    wait: Column
    idle: Column
    """Between the events at entry to and return from ``next()``."""
    work_seen: Column
    """From the event at return to that at the next entry, where the device had not reached that yet."""
    end_us: float
    """When the device had finished everything."""


def loop(
    wait: Column, host: Column, work: Column, *, syncs_every: int = 0, ahead: int = 10_000, launches_last: bool = False
) -> Recorded:
    """A training loop and a device that executes its work in order.

    The host waits for its batch, gives the device the step's work before or after what it computes itself, and waits
    for the device every ``syncs_every`` steps and whenever ``ahead`` steps are queued already.
    """
    at = drained = 0.0
    done: list[float] = []
    entries, idles, seen = [], [], []
    for step, (each_wait, each_host, each_work) in enumerate(zip(wait, host, work, strict=True)):
        entry, entered = at, max(at, drained)
        returned = max(at + each_wait, drained)
        at += each_wait + (each_host if launches_last else 0)
        drained = max(at, drained) + each_work
        at += 0 if launches_last else each_host
        done.append(drained)
        if syncs_every and step % syncs_every == syncs_every - 1:
            at = max(at, drained)
        if step >= ahead:
            at = max(at, done[step - ahead])
        entries.append(entry)
        idles.append(returned - entered)
        seen.append(drained - returned if drained > at else np.nan)
    return Recorded(np.diff(np.array([*entries, at])), wait, np.array(idles), np.array(seen), drained)
