"""Memory of the training process and of its collector over ten million steps of a tight loop."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from torch.utils.data import DataLoader

import underfed
from benchmarks.overhead.jobs import bench, load, prefer

STEPS = 10**7
REPORTED_AT = (10**5, 10**6, *range(2 * 10**6, STEPS + 1, 2 * 10**6))


def train(steps: int) -> None:
    """Print a line at each of ``REPORTED_AT``."""
    started = time.monotonic()
    reported_at = set(REPORTED_AT)
    loader: DataLoader[int] = DataLoader(range(steps), batch_size=None)  # type: ignore[arg-type]
    for step, _ in enumerate(underfed.watch(loader, name="train"), 1):
        if step in reported_at:
            took = time.monotonic() - started
            print(json.dumps({"steps": step, "seconds": took, "bytes": resident_bytes()}), flush=True)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    print(f"\nmemory over {STEPS:,} steps, num_workers=0", flush=True)
    print(f"{'steps':>12}{'seconds':>9}{'trainer MiB':>13}{'collector MiB':>15}")
    with bench() as place:
        job = place.start("-m", __name__)
        prefer(job)
        collector = place.collector()
        assert job.stdout is not None
        for line in job.stdout:
            report = json.loads(line)
            collector_bytes = collector.memory_info().rss
            place.service.windows.clear()
            print(
                f"{report['steps']:12,}{report['seconds']:9.0f}{report['bytes'] / 2**20:13.1f}"
                f"{collector_bytes / 2**20:15.1f}  {load()}",
                flush=True,
            )
        job.wait()


if __name__ == "__main__":
    train(STEPS)
