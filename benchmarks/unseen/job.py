"""What the jobs share: their arguments, a stand-in for a device, and the line that says how fast they were."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WARMUP_STEPS = 10
"""Left out of the steady speed: workers start and first batches load."""


def parser(
    about: str | None, *, steps: int, batch_size: int, num_workers: int, prefetch_factor: int = 2
) -> argparse.ArgumentParser:
    """Arguments that every job takes, with this job's defaults; a job adds its own."""
    arguments = argparse.ArgumentParser(description=about)
    arguments.add_argument("--data", type=Path, required=True, help="where the job makes and keeps its data")
    arguments.add_argument("--steps", type=int, default=steps)
    arguments.add_argument("--batch-size", type=int, default=batch_size)
    arguments.add_argument("--num-workers", type=int, default=num_workers)
    arguments.add_argument("--prefetch-factor", type=int, default=prefetch_factor)
    return arguments


def worker_settings(args: argparse.Namespace, *, persistent: bool = True) -> dict[str, Any]:
    """A DataLoader's settings of workers. Without workers PyTorch takes neither of the other two."""
    if args.num_workers == 0:
        return {"num_workers": 0}
    return {
        "num_workers": args.num_workers,
        "prefetch_factor": args.prefetch_factor,
        "persistent_workers": persistent,
    }


def device_work(seconds: float) -> None:
    """Stands in for an accelerator: the training thread waits for it, and no core is busy."""
    time.sleep(seconds)


def made_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """The folder, filled by ``make`` if no earlier run of the job has done so."""
    done = folder / "complete"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        make(folder)
        done.touch()
    return folder


class Loop:
    """Counts the steps of a training loop, and prints how long they took."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.ended_at: list[float] = []
        self.began_at = time.perf_counter()

    @property
    def done(self) -> bool:
        return len(self.ended_at) >= self.steps

    def step(self) -> bool:
        """Count one step. ``True`` when it was the last."""
        self.ended_at.append(time.perf_counter())
        return self.done

    def report(self) -> None:
        """One line of JSON: wall time of the loop with all that is in it, and the speed after warm-up."""
        now = time.perf_counter()
        steady = self.ended_at[min(WARMUP_STEPS, len(self.ended_at)) - 1 :]
        steady_s = now - steady[0] if steady else 0.0
        speed = (len(steady) - 1) / steady_s if len(steady) > 1 else None
        line = {"steps": len(self.ended_at), "wall_s": now - self.began_at, "steady_steps_per_s": speed}
        print(json.dumps({"training_loop": line}), flush=True)
