"""A collector is started once, again where it is gone, and never often."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from underfed.exchange.guard import Guard
from underfed.host import procfs
from underfed.host.lock import locked
from underfed.trainer import collector_process

S = 1_000_000_000


class Host:
    """Time moved by the test, and how often a collector was started."""

    def __init__(self, run_directory: Path) -> None:
        self.run_directory = run_directory
        self.now_ns = 1_000 * S
        self.starts = 0
        self.is_alive = False
        """The collector that was started last."""
        self._served = ExitStack()

    def serve(self) -> None:
        self._served.enter_context(locked(self.run_directory))

    def kill(self) -> None:
        self.is_alive = False
        self._served.close()

    def wait(self, seconds: float) -> None:
        self.now_ns += int(seconds * S)

    def ensure(self, is_end: bool = False) -> int:
        collector_process.ensure_collector(self.run_directory, Guard(), is_end)
        return self.starts


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    made = Host(tmp_path / "run")
    made.run_directory.mkdir()

    def start(_run_directory: Path) -> tuple[int, int]:
        made.starts += 1
        made.is_alive = True
        return 1, 1

    monkeypatch.setattr(collector_process, "now_ns", lambda: made.now_ns)
    monkeypatch.setattr(collector_process, "start_process", start)
    monkeypatch.setattr(collector_process, "_attempts", {})
    monkeypatch.setattr(collector_process, "_unreaped", [])
    monkeypatch.setattr(procfs, "is_running", lambda _pid, _ticks: made.is_alive)
    return made


def test_a_collector_that_serves_is_left_alone(host: Host) -> None:
    collector_process.start_collector(host.run_directory, Guard())
    host.serve()
    for _ in range(100):
        host.wait(3)
        host.ensure()
    assert host.ensure(is_end=True) == 1
    host.kill()


def test_a_collector_of_another_rank_serves_this_one_too(host: Host) -> None:
    host.serve()
    collector_process.start_collector(host.run_directory, Guard())
    assert host.starts == 0
    host.kill()
    host.wait(3)
    assert host.ensure() == 1


def test_a_collector_that_was_killed_is_replaced(host: Host) -> None:
    collector_process.start_collector(host.run_directory, Guard())
    host.serve()
    host.wait(3600)
    assert host.ensure() == 1
    host.kill()
    # It is looked once a second.
    assert host.ensure() == 1
    host.wait(1)
    assert host.ensure() == 2
    assert host.ensure() == 2


def test_a_collector_that_never_starts_is_tried_ever_less_often(host: Host) -> None:
    collector_process.start_collector(host.run_directory, Guard())
    starts = []
    for _ in range(2 * 3600):
        host.wait(1)
        starts.append(host.ensure())
    assert starts[60] == 5
    # Every ten minutes from then on.
    assert starts[-1] - starts[3600] == 6


def test_after_a_collector_that_stayed_starts_are_as_frequent_as_at_first(host: Host) -> None:
    collector_process.start_collector(host.run_directory, Guard())
    for _ in range(1000):
        host.wait(1)
        host.ensure()
    host.serve()
    host.wait(700)
    before = host.ensure()
    host.kill()
    host.wait(1)
    assert host.ensure() == before + 1
    host.wait(5)
    assert host.ensure() == before + 2


def test_at_the_end_there_is_no_waiting_but_for_one_that_is_starting(host: Host) -> None:
    collector_process.start_collector(host.run_directory, Guard())
    host.wait(1)
    assert collector_process.is_served(host.run_directory)
    assert host.ensure(is_end=True) == 1
    host.serve()
    host.wait(1)
    assert host.ensure() == 1
    host.kill()
    assert not collector_process.is_served(host.run_directory)
    assert host.ensure(is_end=True) == 2
    assert collector_process.is_served(host.run_directory)


def test_one_that_is_slow_to_start_is_expected_however_long_that_takes_and_one_that_failed_is_not(host: Host) -> None:
    collector_process.start_collector(host.run_directory, Guard())
    host.wait(60)
    assert collector_process.is_served(host.run_directory)
    host.kill()
    assert not collector_process.is_served(host.run_directory)


def test_one_that_died_is_reaped_though_another_thread_of_it_ended_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the first process of a container, whose child it is: until its last thread is gone it cannot be reaped."""
    died = os.posix_spawn("/bin/true", ["true"], {})
    process = died, procfs.start_ticks(died)
    os.waitid(os.P_PID, died, os.WEXITED | os.WNOWAIT)
    monkeypatch.setattr(collector_process, "_unreaped", [process])
    with monkeypatch.context() as earlier:
        earlier.setattr(os, "waitpid", lambda _pid, _options: (0, 0))
        collector_process.reap_ended()
    collector_process.reap_ended()
    with pytest.raises(ChildProcessError):
        os.waitpid(died, os.WNOHANG)
    assert collector_process._unreaped == []


def test_where_the_rings_were_removed_none_is_started(host: Host) -> None:
    collector_process.start_collector(host.run_directory, Guard())
    shutil.rmtree(host.run_directory)
    host.kill()
    host.wait(3600)
    assert host.ensure(is_end=True) == 1
    assert not collector_process.is_served(host.run_directory)


def test_a_run_after_another_has_a_collector_of_its_own(host: Host) -> None:
    collector_process.start_collector(host.run_directory, Guard())
    collector_process.start_collector(host.run_directory, Guard())
    assert host.starts == 2


def test_one_whose_start_a_signal_handler_ended_is_not_starting(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_run_directory: Path) -> None:
        raise RuntimeError("of a signal handler")

    with monkeypatch.context() as patched, pytest.raises(RuntimeError):
        patched.setattr(collector_process, "start_process", interrupted)
        collector_process.start_collector(host.run_directory, Guard())
    assert not collector_process.is_served(host.run_directory)
    assert host.ensure() == 0
    assert host.ensure(is_end=True) == 1
