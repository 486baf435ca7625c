"""How a process ended, as the kernel reports it to a process that opened it while it ran."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from underfed.host import procfs
from underfed.host.process_end import ProcessEnd


@pytest.fixture
def child() -> Iterator[int]:
    """Waits for a signal."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGUSR1, lambda *_: os._exit(3))
        signal.signal(signal.SIGUSR2, lambda *_: os._exit(0))
        os.write(write, b"ready")
        while True:
            signal.pause()
    os.read(read, 5)
    os.close(read)
    os.close(write)
    yield pid
    if procfs.is_running(pid, None):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@pytest.mark.parametrize(
    ("how", "status"), [(signal.SIGKILL, -9), (signal.SIGTERM, -15), (signal.SIGUSR1, 3), (signal.SIGUSR2, 0)]
)
def test_it_is_known_before_and_after_the_parent_collected_it(child: int, how: signal.Signals, status: int) -> None:
    ending = ProcessEnd(child, procfs.start_ticks(child))
    assert ending.status() is None
    os.kill(child, how)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert ending.status() == status
    os.waitpid(child, 0)
    # Linux before 6.15 does not report it any more.
    assert ending.status() in (status, None)
    ending.close()
    assert ending.status() is None


def test_a_later_process_of_the_same_number_is_somebody_else(child: int) -> None:
    ticks = procfs.start_ticks(child)
    assert ticks is not None
    ending = ProcessEnd(child, ticks - 1)
    os.kill(child, signal.SIGKILL)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert ending.status() is None
    os.waitpid(child, 0)
    assert ending.status() is None
    ending.close()
