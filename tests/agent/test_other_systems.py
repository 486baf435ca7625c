"""On Windows and macOS nothing is recorded: loaders come back as they are, and one line says so."""

from __future__ import annotations

import pytest

from tests.fakes.jobs import run_text

PROGRAM = """
import sys
import torch
from torch.utils.data import DataLoader
from tests.fakes.confined import forget_agent

forget_agent()  # here it is imported on another system
sys.platform = sys.argv[1]
for name in ("fcntl", "resource", "pwd"):
    sys.modules[name] = None  # no such modules on Windows
import underfed

before = {name: vars(DataLoader)[name] for name in vars(DataLoader)}
loader = DataLoader(range(8), batch_size=2)
state = dict(vars(loader))
print(underfed.init(name="run"), underfed.watch(loader) is loader, underfed.watch(loader, name="train") is loader)
generator = (number for number in range(3))
print(underfed.watch(generator) is generator, list(generator))
print([batch.tolist() for batch in loader], [batch.tolist() for batch in underfed.prefetch(loader, "cpu")])
print(vars(loader) == state, all(vars(DataLoader)[name] is each for name, each in before.items()))
underfed.finish()
print([name for name in sys.modules if name.startswith("underfed.collector")])
"""

BATCHES = [[0, 1], [2, 3], [4, 5], [6, 7]]


@pytest.mark.parametrize("platform", ["win32", "darwin", "freebsd14"])
def test_a_loader_comes_back_untouched_and_one_line_says_why(platform: str) -> None:
    done = run_text(PROGRAM, platform)
    assert done.stdout.splitlines() == [
        "Run(run_id=None, url=None) True True",
        "True [0, 1, 2]",
        f"{BATCHES} {BATCHES}",
        "True True",
        "[]",
    ], done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("underfed: ")
    assert platform in line


def test_switched_off_nothing_is_said() -> None:
    assert run_text(PROGRAM, "win32", UNDERFED_DISABLED="1").stderr == ""
