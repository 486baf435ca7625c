"""What loading a sample may take: waiting or computing."""

from __future__ import annotations

import time


def wait(ms: float) -> None:
    """As for a server that answers after so long."""
    time.sleep(ms / 1e3)


def compute(ms: float) -> None:
    """On a core of its own for so long; longer by the clock where it has none."""
    deadline = time.thread_time() + ms / 1e3
    while time.thread_time() < deadline:
        pass
