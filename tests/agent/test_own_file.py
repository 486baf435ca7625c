"""File numbers of ours in a program that closes every number."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, threading
from underfed.trainer.loading.probe import Probe
from underfed.trainer.loading.thread_times import ThreadTimes
probe, times = Probe(), ThreadTimes(threading.get_native_id())
probe.begin()
os.closerange(3, 200)
files = [os.open(f"{n}", os.O_RDWR | os.O_CREAT) for n in range(9)]
before = [os.fstat(file).st_ino for file in files]
print(probe.end()[1::2], times.read())
del probe, times
print([os.fstat(file).st_ino for file in files] == before)
"""


def test_a_program_that_closed_every_number_keeps_the_files_that_it_opens(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )

    assert (ended.stdout.splitlines(), ended.stderr) == (["(-1, -1) None", "True"], "")
