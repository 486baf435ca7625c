"""Memory in bytes that a repetition keeps beyond the first time, of live objects allocated by the agent's lines.

``python -m tests.agent.growth KIND`` in a process of its own: ``tracemalloc.stop`` may crash one where another thread
allocates, as the tests' service does (cpython issue 128679; mended from Python 3.12.9 on).
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader, dataloader

import underfed

AGENT = Path(underfed.__file__).parent


def main() -> None:
    print(KINDS[sys.argv[1]]())
    underfed.finish()


def kept_bytes() -> int:
    """Also by those lines of torch's that ours were put into."""
    gc.collect()
    ours = [tracemalloc.Filter(True, str(AGENT / "*"), all_frames=False), tracemalloc.Filter(True, dataloader.__file__)]
    snapshot = tracemalloc.take_snapshot().filter_traces(ours)
    return sum(each.size for each in snapshot.statistics("filename"))


def grown_bytes(work: Callable[[], object]) -> int:
    tracemalloc.start()
    work()
    before = kept_bytes()
    work()
    return kept_bytes() - before


def draw(batches: Any, steps: int) -> None:
    assert sum(1 for _ in islice(batches, steps)) == steps


def of_steps(num_workers: int, steps: int) -> int:
    # Of one iterator: torch's own books are balanced again after each step.
    loader: DataLoader[int] = DataLoader(range(10**6), batch_size=None, num_workers=num_workers)  # type: ignore[arg-type]
    batches = iter(underfed.watch(loader))
    draw(batches, 100)
    return grown_bytes(lambda: draw(batches, steps))


def of_steps_without_a_dataloader() -> int:
    batches = iter(underfed.watch(iter(range(10**6))))
    draw(batches, 100)
    return grown_bytes(lambda: draw(batches, 1_000))


def of_epochs() -> int:
    loader: DataLoader[int] = underfed.watch(DataLoader(range(8), batch_size=4))  # type: ignore[arg-type]
    return grown_bytes(lambda: [list(loader) for _ in range(300)])


KINDS: dict[str, Callable[[], int]] = {
    "steps": lambda: of_steps(0, 1_000),
    "steps of workers": lambda: of_steps(2, 1_000),
    "steps of what is no DataLoader": of_steps_without_a_dataloader,
    "epochs": of_epochs,
}

if __name__ == "__main__":
    main()
