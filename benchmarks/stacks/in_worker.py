"""What the agent's own sampling costs a worker: the same loader, by turns in a burst, between bursts, and left alone.

All in one run of one worker, a third of a second each, so nothing else differs. Time on a CPU is of the thread that
loads; what the sampling thread takes is told beside it, and the bytes that the run was sent with.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

import underfed
from benchmarks.overhead.jobs import bench, load
from benchmarks.overhead.pairs import estimate
from benchmarks.stacks.pipelines import pillow, python_then_released
from underfed.trainer import control
from underfed.trainer.loading import bursts

TURN_S = 0.3
KINDS = ("alone", "in a burst", "between bursts")
ROUNDS = 100


class Loading(Dataset[Tensor]):
    """Gives, in place of a sample, when it was loaded and how long that took."""

    def __init__(self) -> None:
        self.parts = (pillow().plain, python_then_released().plain)

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> Tensor:
        began_ns, cpu_ns = time.perf_counter_ns(), time.thread_time_ns()
        for part in self.parts:
            part()
        ended_ns = time.perf_counter_ns()
        return torch.tensor([began_ns, ended_ns - began_ns, time.thread_time_ns() - cpu_ns])


def turns(age_ns: int, _: int) -> bool:
    """In place of ``is_burst``, which the sampling thread calls before each look: in the first turn it is kept here."""
    turn, within = divmod(age_ns / 1e9 / TURN_S, 1)
    if turn % len(KINDS) == 0:
        time.sleep((1 - within) * TURN_S)
        return True
    return turn % len(KINDS) == 1


def measure() -> dict[str, Any]:
    torch.set_num_threads(1)
    vars(bursts)["is_burst"] = turns
    loader = DataLoader(Loading(), batch_size=4, num_workers=1, prefetch_factor=4)
    underfed.watch(loader, name="train")
    iterator: Any = iter(loader)
    recording = control._state.recording
    watched = None if recording is None else recording.registry.find(loader)
    since_ns = watched.stacks_since_ns() if watched is not None else None
    assert since_ns is not None
    took: dict[int, list[tuple[int, int]]] = {}
    while len(took) < ROUNDS * len(KINDS):
        for began_ns, wall_ns, cpu_ns in next(iterator).tolist():
            turn = int((began_ns - since_ns) / 1e9 / TURN_S)
            took.setdefault(turn, []).append((wall_ns, cpu_ns))
    sampling_ns = _cpu_ns_of_sampling(iterator._workers[0].pid)
    means = {
        turn: [sum(column) / len(column) for column in zip(*samples, strict=True)] for turn, samples in took.items()
    }
    whole = [turn for turn in sorted(means) if turn % 3 == 0 and {turn + 1, turn + 2} <= means.keys()][1:]
    ratios = {
        kind: [[means[turn + place][which] / means[turn][which] for turn in whole] for which in (0, 1)]
        for place, kind in enumerate(KINDS)
    }
    return {"ratios": ratios, "sampling_share": sampling_ns / 1e9 / (len(took) * TURN_S)}


def _cpu_ns_of_sampling(pid: int) -> int:
    """Of the worker's threads that neither load nor send, the busiest."""
    threads = [path for path in Path(f"/proc/{pid}/task").iterdir() if path.name != str(pid)]
    return max(int((path / "schedstat").read_text().split()[0]) for path in threads)


def main() -> None:
    with bench() as place:
        result = place.run("-m", __name__)
        sent = [each for window in place.service.windows for each in window.get("stacks", [])]
        size = len(json.dumps(sent[-1])) if sent else 0
    for kind in KINDS[1:]:
        time_, cpu = (estimate([100 * (ratio - 1) for ratio in ratios]) for ratios in result["ratios"][kind])
        print(f"a worker's loading {kind}: {time_} % time, {cpu} % CPU")
    print(f"the sampling thread: {100 * result['sampling_share']:.2f} % of a core; {len(sent)} times {size:,} bytes")
    print(load(), flush=True)


if __name__ == "__main__":
    print(json.dumps(measure()))
