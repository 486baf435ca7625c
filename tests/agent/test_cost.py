"""What the agent costs wherever it runs: nothing grows with steps or epochs, and what is heavy stays outside.

How much time it takes is measured, not asserted: ``benchmarks/overhead``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader

import underfed
from tests.agent.growth import KINDS, draw
from tests.fakes.forkserver import start
from tests.fakes.jobs import end, environment, run_text
from tests.fakes.service import Service, wait_until
from underfed.trainer.hooks.watched_loader import KEPT_ITERATORS

NOISE_BYTES = 2_000
"""A dictionary or a deque grows by leaps; a pointer kept for each step would be four times as much."""


def rings(run_id: str) -> dict[str, int]:
    """Their names and sizes."""
    directory = Path(os.environ["UNDERFED_RINGS"])
    found = [path for kind in ("steps", "batches") for path in directory.glob(f"*/{run_id}/rank-*/*.{kind}")]
    return {path.name: path.stat().st_size for path in found}


def numbers(length: int, **settings: Any) -> DataLoader[int]:
    return DataLoader(range(length), **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_kept_of_each(kind: str, service: Service) -> None:
    done = end(start("tests.agent.growth", [kind], environment()))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < NOISE_BYTES
    # It was recorded meanwhile.
    wait_until(service.ends, "the end arrives")
    assert service.count_steps() > 300


def test_files_do_not_grow_with_steps(run_id: str) -> None:
    batches = iter(underfed.watch(numbers(10**6, batch_size=None, num_workers=2)))
    draw(batches, 2)  # one of each worker, which makes its file with it
    at_first = rings(run_id)
    draw(batches, 5_000)  # each ring has room for fewer
    assert rings(run_id) == at_first
    assert len(at_first) == 3


def test_files_of_workers_are_those_of_the_newest_iterators(run_id: str) -> None:
    loader = underfed.watch(numbers(8, num_workers=2))
    for _ in range(KEPT_ITERATORS + 3):
        list(loader)
    # The collector may have removed more.
    assert len(rings(run_id)) <= 1 + 2 * KEPT_ITERATORS


def test_an_iterators_open_files_end_with_it() -> None:
    program = (
        "import os, underfed; from torch.utils.data import DataLoader\n"
        "files = lambda: len(os.listdir('/proc/self/fd'))\n"
        "loader = underfed.watch(DataLoader(range(8))); list(loader); before = files()\n"
        "iterators = [iter(loader) for _ in range(5)]; [next(iterator) for iterator in iterators]\n"
        "print(files() - before); iterators.clear(); print(files() - before)"
    )
    meanwhile, afterwards = run_text(program).stdout.split()
    assert int(meanwhile) > 0
    assert afterwards == "0"


def test_with_workers_the_training_process_has_torchs_threads_only() -> None:
    program = (
        "import os, sys, threading, underfed; from torch.utils.data import DataLoader\n"
        "def threads(loader):\n"
        "    iterator = iter(loader); next(iterator)\n"
        "    return len(os.listdir('/proc/self/task')), sorted(thread.name for thread in threading.enumerate())\n"
        "bare, watched = (DataLoader(range(64), num_workers=2) for _ in range(2))\n"
        "print(threads(bare) == threads(underfed.watch(watched)))"
    )
    assert run_text(program).stdout == "True\n"


def test_the_collectors_modules_are_not_in_the_training_process() -> None:
    heavy = {"psutil", "pynvml", "asyncio", "ssl", "http", "sqlite3", "email", "gzip"}
    # The process that this one is forked from has imported the agent, and some of these.
    forgotten = heavy | {"underfed"}
    program = (
        "import sys; from torch.utils.data import DataLoader\n"
        "list(DataLoader(range(8)))\n"
        f"for name in [name for name in sys.modules if name.split('.')[0] in {forgotten}]: del sys.modules[name]\n"
        "before = set(sys.modules)\n"
        "import underfed; list(underfed.watch(DataLoader(range(8))))\n"
        "new = set(sys.modules) - before\n"
        "print('underfed.trainer.recording' in new, sorted({name.split('.')[0] for name in new} - {'underfed'}),"
        " [name for name in new if name.startswith('underfed.collector')])"
    )
    is_recording, *rest = run_text(program).stdout.split(maxsplit=1)
    assert is_recording == "True"
    assert not [name for name in heavy if f"'{name}'" in rest[0]]
    assert rest[0].endswith("[]\n")
