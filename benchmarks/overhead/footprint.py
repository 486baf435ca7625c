"""Time and memory that the agent adds to a process that has torch and has drawn from a loader already."""

from __future__ import annotations

import statistics

from benchmarks.overhead.jobs import bench, load

PROCESSES = 15

SCRIPT = """
import os, time
import torch
from torch.utils.data import DataLoader

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def sockets():
    names = os.listdir("/proc/self/fd")
    links = [f"/proc/self/fd/{name}" for name in names]
    return sum(os.readlink(link).startswith("socket:") for link in links if os.path.islink(link))

def threads():
    return len(os.listdir("/proc/self/task"))

def draw(loader):
    for _ in loader:
        pass

draw(DataLoader(range(64), batch_size=4))
loader = DataLoader(range(64), batch_size=4)
threads_before, sockets_before = threads(), sockets()
marks = [(time.perf_counter(), resident())]
import underfed
marks.append((time.perf_counter(), resident()))
underfed.watch(loader, name="train")
marks.append((time.perf_counter(), resident()))
draw(loader)
marks.append((time.perf_counter(), resident()))
time.sleep(1)
import json
print(json.dumps({
    "ms": [(after - before) * 1e3 for (before, _), (after, _) in zip(marks, marks[1:])],
    "bytes": [after - before for (_, before), (_, after) in zip(marks, marks[1:])],
    "threads": threads() - threads_before,
    "sockets": sockets() - sockets_before,
}))
"""
PARTS = ("import underfed", "first watch()", "first epoch, 16 steps")
"""Between the marks of the script."""


def main() -> None:
    with bench() as place:
        place.run("-c", SCRIPT)  # compiles, where that was not done yet
    found = []
    for _ in range(PROCESSES):
        with bench() as place:
            found.append(place.run("-c", SCRIPT))
    print(f"\nbeside torch, medians of {PROCESSES} processes, {load()}")
    for index, part in enumerate(PARTS):
        print_row(part, [each["ms"][index] for each in found], [each["bytes"][index] for each in found])
    both = slice(0, 2)
    print_row(
        "import and watch", [sum(each["ms"][both]) for each in found], [sum(each["bytes"][both]) for each in found]
    )
    threads, sockets = (statistics.median(each[name] for each in found) for name in ("threads", "sockets"))
    print(f"  more threads of the training process {threads:+.0f}, sockets {sockets:+.0f}", flush=True)


def print_row(part: str, ms: list[float], sizes: list[int]) -> None:
    print(f"  {part:24}{statistics.median(ms):8.1f} ms{statistics.median(sizes) / 2**20:8.2f} MiB", flush=True)
