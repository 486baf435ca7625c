"""Which process is which, whether it runs, and how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.fakes.service import wait_until
from underfed.host import procfs


def test_a_running_process_runs() -> None:
    ticks = procfs.start_ticks(os.getpid())
    assert ticks is not None
    assert procfs.is_running(os.getpid(), ticks)


def test_a_later_process_with_the_same_pid_is_another() -> None:
    assert not procfs.is_running(os.getpid(), 1)


def test_a_zombie_does_not_run_and_says_how_it_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    ticks = procfs.start_ticks(process.pid)
    assert procfs.is_running(process.pid, ticks)
    assert procfs.exit_status(process.pid, ticks) is None
    process.send_signal(signal.SIGKILL)
    wait_until(lambda: not procfs.is_running(process.pid, ticks), "it is gone")
    assert procfs.exit_status(process.pid, ticks) == -signal.SIGKILL
    process.communicate()
    assert procfs.exit_status(process.pid, ticks) is None


def test_an_end_is_described_in_words() -> None:
    assert procfs.describe_exit(-9) == "killed by SIGKILL"
    assert procfs.describe_exit(-250) == "killed by signal 250"
    assert "exit code 3" in procfs.describe_exit(3)


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


def test_what_a_process_uses_is_read() -> None:
    block = bytearray(b"1" * (64 << 20))
    tasks = Path("/proc/self/task")
    # A service that an earlier test had here may still end a thread.
    before = len(list(tasks.iterdir()))
    usage = procfs.usage(os.getpid())
    after = len(list(tasks.iterdir()))
    assert usage is not None
    assert usage.start_ticks == procfs.start_ticks(os.getpid())
    assert usage.rss_bytes > len(block)
    assert after <= usage.threads <= before
    assert abs(usage.cpu_us / 1e6 - time.process_time()) < 0.1


SHARING = """
import os, time
block = bytearray(b"1" * SIZE)
os.fork()
os.write(1, f"{os.getpid()}\\n".encode())
time.sleep(60)
"""


def test_a_page_that_two_processes_share_counts_half_for_each() -> None:
    size = 64 << 20
    program = SHARING.replace("SIZE", str(size))
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pids = [int(process.stdout.readline()) for _ in range(2)]
    shares = [procfs.pss_bytes(pid) or 0 for pid in pids]
    resident = [usage.rss_bytes for pid in pids if (usage := procfs.usage(pid)) is not None]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    process.communicate()
    assert min(resident) > size
    assert all(size / 2 < share < size * 0.75 for share in shares)


def test_the_environment_is_the_one_a_process_was_started_with() -> None:
    program = "import os; os.environ['LATER'] = '1'; print(1, flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"A": "1=2", "B": ""}
    )
    assert process.stdout is not None
    process.stdout.readline()
    assert procfs.environment(process.pid) == {"A": "1=2", "B": ""}
    assert procfs.parent(process.pid) == os.getpid()
    process.communicate(b"\n")
    assert procfs.environment(process.pid) is None


def test_what_a_process_writes_is_counted(tmp_path: Path) -> None:
    before = procfs.written_bytes(os.getpid())
    (tmp_path / "checkpoint.pt").write_bytes(bytes(2_000_000))
    after = procfs.written_bytes(os.getpid())
    assert before is not None and after is not None
    assert after - before >= 2_000_000


def test_what_is_not_there_is_not_measured() -> None:
    for read in (procfs.start_ticks, procfs.schedstat, procfs.usage, procfs.pss_bytes, procfs.swap_bytes,
                 procfs.open_files, procfs.parent, procfs.environment, procfs.written_bytes):  # fmt: skip
        assert read(2**22) is None
    assert not procfs.is_running(2**22, None)
