"""What a program sees of its loops by its own clock, without Underfed: the truth that its record is held to."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset, get_worker_info

BEGAN = time.perf_counter()
MOST_WORKERS = 8


class Samples(Dataset[Tensor]):
    """Each sample comes from a server that answers after ``ms``."""

    def __init__(self, length: int, ms: float) -> None:
        self.length = length
        self.ms = ms

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(self.ms / 1e3)
        return torch.full((64,), float(index))


class Loop:
    """Passes over one loader."""

    def __init__(self, loader: str, role: str) -> None:
        self.loader = loader
        self.role = role
        self.steps = 0
        self.waited_s = 0.0
        self.spent_s = 0.0
        self._since = 0.0
        self._began = 0.0

    def begins(self) -> None:
        """Before ``iter(loader)``."""
        self._began = self._since = time.perf_counter()

    def has_batch(self) -> None:
        self.steps += 1
        self.waited_s += time.perf_counter() - self._since

    def is_done(self) -> None:
        """With the batch."""
        self._since = time.perf_counter()

    def ends(self) -> None:
        """After the request that found no more."""
        self.waited_s += time.perf_counter() - self._since
        self.spent_s += time.perf_counter() - self._began

    def figures(self) -> dict[str, Any]:
        return {
            "loader": self.loader,
            "role": self.role,
            "steps": self.steps,
            "waited_s": round(self.waited_s, 3),
            "spent_s": round(self.spent_s, 3),
        }


class SharedClock:
    """Time that workers spend in a part of their work, by the clock and on a CPU: all of them together."""

    def __init__(self) -> None:
        self.spent = torch.zeros(MOST_WORKERS, 2, dtype=torch.float64).share_memory_()
        self._began = 0.0, 0.0

    def __enter__(self) -> None:
        self._began = time.perf_counter(), time.thread_time()

    def __exit__(self, *_raised: object) -> None:
        worker, (wall_s, cpu_s) = get_worker_info(), self._began
        self.spent[worker.id if worker else 0] += torch.tensor(
            [time.perf_counter() - wall_s, time.thread_time() - cpu_s], dtype=torch.float64
        )

    def figures(self) -> dict[str, float]:
        wall_s, cpu_s = self.spent.sum(0).tolist()
        return {"wall_s": round(wall_s, 3), "cpu_s": round(cpu_s, 3)}


PAUSES: list[dict[str, Any]] = []


@contextmanager
def pause(what: str) -> Iterator[None]:
    """The program does something else than training: nothing waits for data meanwhile."""
    began = time.perf_counter()
    yield
    lasted_s = time.perf_counter() - began
    PAUSES.append({"what": what, "after_s": round(began - BEGAN, 3), "lasted_s": round(lasted_s, 3)})


def work(ms: float) -> None:
    """Stands in for a device: the training thread waits for it, and no core is busy."""
    time.sleep(ms / 1e3)


def write(*loops: Loop, **beside: Any) -> None:
    """Where the recorder asks for it; a rank or a process of a shell's loop beside the others'."""
    folder = Path(os.environ["NOTED"])
    noted = {"rank": int(os.environ.get("RANK", "0")), "loaders": [each.figures() for each in loops], "pauses": PAUSES}
    noted |= {"wall_s": round(time.perf_counter() - BEGAN, 3), **beside}
    (folder / f"{time.time_ns()}-{os.getpid()}.json").write_text(json.dumps(noted))
