"""What the agent's own looking costs: the same loading in a burst, between bursts and left alone, in turns of one run.

In a worker, and with ``--profile`` in the training process, which there loads itself and does as much again in each
step. Each turn is a third of a second and is compared with the one before it that was left alone, so nothing else
differs. Time on a CPU is of the thread that is looked at; what the looking thread takes is printed beside it.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

import underfed
from benchmarks.overhead.jobs import bench, load
from benchmarks.stacks.pipelines import pillow, python_then_released
from underfed.exchange.config import PROFILE
from underfed.trainer import control
from underfed.trainer.loading import bursts

Where = Literal["worker", "training"]

TURN_S = 0.3
KINDS = ("alone", "in a burst", "between bursts")
ROUNDS = 70
IN_BURSTS = bursts.BURST_NS / bursts.PERIOD_NS
"""Of a long run's time."""

NAMES: dict[Where, str] = {"worker": "a worker", "training": "training, --profile"}


class Loading(Dataset[Tensor]):
    """Gives, in place of a sample, when it was loaded and how long that took."""

    def __init__(self) -> None:
        self.parts = (pillow().plain, python_then_released().plain)

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> Tensor:
        return torch.tensor(self.timed())

    def timed(self) -> list[int]:
        began_ns, cpu_ns = time.perf_counter_ns(), time.thread_time_ns()
        for part in self.parts:
            part()
        ended_ns = time.perf_counter_ns()
        return [began_ns, ended_ns - began_ns, time.thread_time_ns() - cpu_ns]


def turns(age_ns: int, _: int) -> bool:
    """In place of ``is_burst``, which the looking thread calls before each look: in the first turn it is kept here."""
    turn, within = divmod(age_ns / 1e9 / TURN_S, 1)
    if turn % len(KINDS) == 0:
        time.sleep((1 - within) * TURN_S)
        return True
    return turn % len(KINDS) == 1


def measure(where: Where) -> dict[str, Any]:
    torch.set_num_threads(1)
    vars(bursts)["is_burst"] = turns
    if where == "training":
        os.environ[PROFILE] = "1"
    loading = Loading()
    workers: dict[str, int] = {"num_workers": 1, "prefetch_factor": 4} if where == "worker" else {}
    loader = DataLoader(loading, batch_size=4, **workers)  # type: ignore[arg-type]
    underfed.watch(loader, name="train")
    iterator: Any = iter(loader)
    since_ns = _since_ns(loader, where)
    took: dict[int, list[tuple[int, int]]] = {}
    while len(took) < ROUNDS * len(KINDS):
        rows = next(iterator).tolist()
        if where == "training":
            rows += [loading.timed() for _ in rows]
        for began_ns, wall_ns, cpu_ns in rows:
            turn = int((began_ns - since_ns) / 1e9 / TURN_S)
            took.setdefault(turn, []).append((wall_ns, cpu_ns))
    looking_ns = _cpu_ns_of_looking(iterator._workers[0].pid if where == "worker" else os.getpid())
    means = {
        turn: [sum(column) / len(column) for column in zip(*samples, strict=True)] for turn, samples in took.items()
    }
    whole = [turn for turn in sorted(means) if turn % 3 == 0 and {turn + 1, turn + 2} <= means.keys()][1:]
    ratios = {
        kind: [[means[turn + place][which] / means[turn][which] for turn in whole] for which in (0, 1)]
        for place, kind in enumerate(KINDS)
    }
    return {"ratios": ratios, "looking_share": looking_ns / 1e9 / (len(took) * TURN_S)}


def _since_ns(loader: Any, where: Where) -> int:
    """From when on the turns are counted."""
    recording = control._state.recording
    assert recording is not None
    if where == "worker":
        watched = recording.registry.find(loader)
        since_ns = None if watched is None else watched.stacks_since_ns()
    else:
        sampler = None if recording.profiler is None else recording.profiler._sampler
        since_ns = None if sampler is None else sampler.bursts.since_ns
    assert since_ns is not None
    return since_ns


def _cpu_ns_of_looking(pid: int) -> int:
    """Of the threads that neither load nor send, the busiest."""
    threads = [path for path in Path(f"/proc/{pid}/task").iterdir() if path.name != str(pid)]
    return max(int((path / "schedstat").read_text().split()[0]) for path in threads)


def main() -> None:
    print(f"{'thread that is looked at':<22}{'':<18}{'elapsed time, × alone':>28}{'time on a CPU, × alone':>28}")
    for where, name in NAMES.items():
        with bench() as place:
            result = place.run("-m", __name__, where)
            sent = [each for window in place.service.windows for each in window.get("stacks", [])]
        figures = {kind: [mean_of(ratios) for ratios in result["ratios"][kind]] for kind in KINDS[1:]}
        for kind, both in figures.items():
            print(f"{name:<22}{kind:<18}{''.join(f'{_with_interval(*each):>28}' for each in both)}")
        burst, rest = (figures[kind] for kind in KINDS[1:])
        whole = [of_a_long_run(*each) for each in zip(burst, rest, strict=True)]
        print(f"{name:<22}{'a long run':<18}{''.join(f'{_with_interval(*each):>28}' for each in whole)}")
        size = len(json.dumps(sent[-1], separators=(",", ":"))) if sent else 0
        print(
            f"{'':<22}the thread that looks: {100 * result['looking_share']:.2f} % of a core in these turns; "
            f"{len(sent)} times {size:,} bytes sent; {load()}",
            flush=True,
        )


def of_a_long_run(burst: tuple[float, float], rest: tuple[float, float]) -> tuple[float, float]:
    """A mean and by how much it may be off, of those in bursts and between them."""
    parts = ((IN_BURSTS, *burst), (1 - IN_BURSTS, *rest))
    return sum(part * mean for part, mean, _ in parts), math.hypot(*(part * off for part, _, off in parts))


def mean_of(ratios: list[float]) -> tuple[float, float]:
    """And by how much it may be off, either way (95 %, normal)."""
    return statistics.fmean(ratios), 1.96 * statistics.stdev(ratios) / len(ratios) ** 0.5


def _with_interval(mean: float, off: float) -> str:
    return f"{mean:.4f} [{mean - off:.4f}, {mean + off:.4f}]"


if __name__ == "__main__":
    print(json.dumps(measure("training" if sys.argv[1:] == ["training"] else "worker")))
