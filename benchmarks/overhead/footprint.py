"""Time and memory that the agent adds to a process that has imported torch and iterated a loader already."""

from __future__ import annotations

import statistics

from benchmarks.overhead.jobs import bench, load

PROCESSES = 15

SCRIPT = """
import gc, os, time
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

def mark():
    marks.append((time.perf_counter(), time.process_time(), resident()))

gc.collect()  # importing torch leaves a full one due, which whoever comes next would pay for
marks = []
mark()
import underfed
mark()
underfed.watch(loader, name="train")
mark()
draw(loader)
mark()
time.sleep(1)
import json
print(json.dumps({
    "parts": [[now - before for now, before in zip(after, part)] for part, after in zip(marks, marks[1:])],
    "threads": threads() - threads_before,
    "sockets": sockets() - sockets_before,
}))
"""
PARTS = ("import underfed", "first watch()", "first epoch, 16 steps")
"""Between the marks of the script."""


def main() -> None:
    with bench() as place:
        place.run("-c", SCRIPT)  # compiles the modules, if that was not done yet
    found = []
    for _ in range(PROCESSES):
        with bench() as place:
            found.append(place.run("-c", SCRIPT))
    print(f"\nbeside torch, medians of {PROCESSES} processes, {load()}")
    for index, part in enumerate(PARTS):
        print_row(part, [each["parts"][index] for each in found])
    print_row("import and watch", [list(map(sum, zip(*each["parts"][:2], strict=True))) for each in found])
    threads, sockets = (statistics.median(each[name] for each in found) for name in ("threads", "sockets"))
    print(f"  more threads of the training process {threads:+.0f}, sockets {sockets:+.0f}", flush=True)


def print_row(part: str, found: list[list[float]]) -> None:
    """Of each process: seconds, of them on a processor, and bytes that became resident."""
    took_s, cpu_s, resident = map(statistics.median, zip(*found, strict=True))
    print(f"  {part:24}{took_s * 1e3:8.1f} ms{cpu_s * 1e3:8.1f} ms CPU{resident / 2**20:8.2f} MiB", flush=True)
