"""µs a step on the training thread: the agent and its peers against the bare loop, and against what the agent says.

The queue is kept full, so that only the tools' own time can differ. A host that waits as for a GPU sleeps between
its steps: the processor has given up its caches then, and everything costs several times more, torch's own code too.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from benchmarks.overhead.jobs import bench, load
from benchmarks.overhead.pairs import Bare, Comparison, Estimate, compare, spin
from benchmarks.overhead.variants import VARIANTS, is_installed

PEER_SHARE = 5
"""A peer is measured over this many times fewer steps."""


@dataclass(frozen=True, slots=True)
class Case:
    num_workers: int
    work: Callable[[], None]
    """A busy step computes for as long as a batch takes to arrive."""


CASES = {
    "0 workers, host busy": Case(0, spin(30)),
    "0 workers, host waits as for a GPU": Case(0, lambda: time.sleep(0.001)),
    "2 workers, host busy": Case(2, spin(400)),
    "2 workers, host waits as for a GPU": Case(2, lambda: time.sleep(0.001)),
}


class Ready(Dataset[int]):
    """A sample costs nothing, which leaves torch's own code and what the tools add."""

    def __len__(self) -> int:
        return 10**9

    def __getitem__(self, index: int) -> int:
        return index


def first(samples: list[int]) -> int:
    return samples[0]


def make_loader(num_workers: int) -> DataLoader[int]:
    extra: dict[str, Any] = {"prefetch_factor": 64} if num_workers else {}
    return DataLoader(Ready(), batch_size=4, num_workers=num_workers, collate_fn=first, **extra)


def measure(case: Case, variant: str, steps: int) -> Comparison:
    torch.set_num_threads(1)
    other = VARIANTS[variant](make_loader(case.num_workers))
    time.sleep(1.0 if case.num_workers else 0.0)
    result = compare(Bare(other.iterator), other, case.work, steps)
    end_workers(other.iterator)
    return result


def end_workers(iterator: Any) -> None:
    """The queues are full: a loop that is left in the middle takes five seconds a worker otherwise."""
    for worker in getattr(iterator, "_workers", ()):
        worker.terminate()


def main(steps: int) -> None:
    heads = f"{'bare':>9}{'with':>9}  {'more, median [95 %]':<26}{'more, mean [95 %]':<26}{'says':>6}"
    print(f"{'µs a step':51}{heads}", flush=True)
    for name in CASES:
        for variant in VARIANTS:
            if not is_installed(variant):
                print(f"{name:36}{variant:15}(not installed here; `make bench` installs it)")
                continue
            with bench() as place:
                count = steps if variant == "underfed" else steps // PEER_SHARE
                result = read(place.run("-m", __name__, name, variant, str(count)))
                says = place.reported_us() if variant == "underfed" else None
            print_row(name, variant, result, says)


def read(result: dict[str, Any]) -> Comparison:
    estimates = {name: Estimate(**value) for name, value in result.items() if isinstance(value, dict)}
    return Comparison(**{**result, **estimates})


def print_row(name: str, variant: str, result: Comparison, says: float | None) -> None:
    print(
        f"{name:36}{variant:15}{result.bare_us:9.2f}{result.other_us:9.2f}  "
        f"{result.typical_us!s:<26}{result.mean_us!s:<26}{'' if says is None else f'{says:6.2f}':>6}"
        f"  {result.steps:,} steps each, {load()}",
        flush=True,
    )


if __name__ == "__main__":
    print(json.dumps(asdict(measure(CASES[sys.argv[1]], sys.argv[2], int(sys.argv[3])))))
