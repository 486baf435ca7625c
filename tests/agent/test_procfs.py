"""Which process is which, whether it runs, and how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.fakes.service import wait_until
from underfed import procfs


def test_a_running_process_runs() -> None:
    ticks = procfs.start_ticks(os.getpid())
    assert ticks is not None
    assert procfs.is_running(os.getpid(), ticks)


def test_a_later_process_with_the_same_pid_is_another() -> None:
    assert not procfs.is_running(os.getpid(), 1)


def test_a_zombie_does_not_run_and_tells_how_it_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    ticks = procfs.start_ticks(process.pid)
    assert procfs.is_running(process.pid, ticks)
    assert procfs.exit_status(process.pid, ticks) is None
    process.send_signal(signal.SIGKILL)
    wait_until(lambda: not procfs.is_running(process.pid, ticks), "it is gone")
    assert procfs.exit_status(process.pid, ticks) == -signal.SIGKILL
    process.communicate()
    assert procfs.exit_status(process.pid, ticks) is None


def test_an_end_is_told_in_words() -> None:
    assert procfs.describe_exit(-9) == "killed by SIGKILL"
    assert procfs.describe_exit(-250) == "killed by signal 250"
    assert "exit code 3" in procfs.describe_exit(3)
    assert "out of memory" in procfs.describe_exit(None)


def test_a_name_with_brackets_does_not_confuse(tmp_path: Path) -> None:
    program = tmp_path / "a ) S (b"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([program, "60"])
    try:
        wait_until(lambda: procfs.start_ticks(process.pid), "it has a start time")
        assert procfs.is_running(process.pid, procfs.start_ticks(process.pid))
    finally:
        process.kill()
        process.wait()


def test_the_run_queue_of_a_process_is_read() -> None:
    before = procfs.schedstat(os.getpid())
    assert before is not None
    sum(range(1_000_000))
    after = procfs.schedstat(os.getpid())
    assert after is not None
    assert after[0] > before[0]


def test_what_is_not_there_is_not_measured() -> None:
    assert procfs.start_ticks(2**22) is None
    assert procfs.schedstat(2**22) is None
    assert not procfs.is_running(2**22, None)
