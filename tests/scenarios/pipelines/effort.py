"""What loading a sample may take: waiting or computing."""

from __future__ import annotations

import time


def wait(ms: float) -> None:
    """As if waiting for a server that answers after this long."""
    time.sleep(ms / 1e3)


def compute(ms: float) -> None:
    """So much CPU time; longer by the clock where no core is free."""
    deadline = time.thread_time() + ms / 1e3
    while time.thread_time() < deadline:
        pass
