"""File numbers of ours in a program that closes every number, or puts files of its own at them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, sys, threading
def opened():
    return {number for number in range(256) if os.path.exists(f"/dev/fd/{number}")}
before = opened()
from underfed.trainer.loading.probe import Probe
from underfed.trainer.loading.thread_times import ThreadTimes
probe, times = Probe(), ThreadTimes(threading.get_native_id())
probe.begin()
ours = sorted(opened() - before)
if sys.argv[1] == "closes":
    os.closerange(3, 256)
    files = [os.open(f"{n}", os.O_RDWR | os.O_CREAT) for n in range(9)]
else:
    files = [os.dup2(os.open(f"{n}", os.O_RDWR | os.O_CREAT), file) for n, file in enumerate(ours)]
before = [os.fstat(file).st_ino for file in files]
print(len(ours), probe.end()[1:5:2], times.read())
del probe, times
print([os.fstat(file).st_ino for file in files] == before)
"""


@pytest.mark.parametrize("how", ["closes", "takes the numbers over"])
def test_a_program_keeps_the_files_that_it_opens_at_our_numbers(how: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, how], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )

    assert (ended.stdout.splitlines(), ended.stderr) == (["3 (-1, -1) None", "True"], "")
