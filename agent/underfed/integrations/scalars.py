"""What callbacks of ours log: the figures of the newest minute."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from underfed import init
from underfed.errors import ConfigError
from underfed.exchange import figures
from underfed.exchange.config import is_disabled
from underfed.exchange.trackers import SWITCH
from underfed.trainer import control


def is_recording() -> bool:
    """Whether trackers may be given something: a recording runs, or begins with the first loader."""
    wanted = not is_disabled(os.environ) and os.environ.get(SWITCH) != "0"
    return wanted and control.is_recording()


def scalars() -> dict[str, float]:
    """By name, without what is not known."""
    return figures.scalars(control.stats())


def unharmed(log: Callable[[], None]) -> None:
    """Call ``log``: what fails in it is counted and never ends the training."""
    try:
        log()
    except Exception as error:
        control.guard().failed("tracker", error)


def remember(config: dict[str, object]) -> None:
    """What the program's configuration is, for the run; where it has begun already it stays as it is."""
    with suppress(ConfigError):
        init(config={name: value for name, value in config.items() if isinstance(value, (bool, int, float, str))})
