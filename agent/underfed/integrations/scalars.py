"""What trackers are told: the figures of the newest minute, and where the run's page is."""

from __future__ import annotations

import os
from collections.abc import Callable

from underfed import init
from underfed.errors import ConfigError
from underfed.exchange.config import is_disabled
from underfed.trainer import control

SCALARS = ("data_stall_fraction", "data_wait_us", "data_wait_p95_us", "steps_per_s", "queue_empty_fraction")
SWITCH = "UNDERFED_TRACKERS"
"""``0``: trackers are told nothing that the program did not ask for."""


def is_recording() -> bool:
    """Whether trackers may be told something: a recording runs, or begins with the first loader."""
    wanted = not is_disabled(os.environ) and os.environ.get(SWITCH) != "0"
    return wanted and control.is_recording()


def scalars() -> dict[str, float]:
    """By name, without what is not known: of this rank's newest minute."""
    recent = control.stats()["recent"]
    return {name: recent[name] for name in SCALARS if recent[name] is not None}


def page() -> str | None:
    """The address of the run's page, once there are figures."""
    address: str | None = control.stats()["page"]
    return address


def unharmed(log: Callable[[], None]) -> None:
    """Call ``log``: what fails in it is counted and never ends the training."""
    try:
        log()
    except Exception as error:
        control.guard().failed("tracker", error)


def remember(config: dict[str, object]) -> None:
    """What the program's configuration is, for the run; where it has begun already it stays as it is."""
    try:
        init(config={name: value for name, value in config.items() if isinstance(value, (bool, int, float, str))})
    except ConfigError:
        return
