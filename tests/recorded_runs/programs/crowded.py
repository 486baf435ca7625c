"""A loop on cores that other processes fill: samples that are waited for, and work that wants a core.

Arguments: workers, samples, milliseconds that each sleeps, samples in a batch, milliseconds of work in a step.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import torch
from noted import Loop, Samples, write
from torch.utils.data import DataLoader

torch.set_num_threads(1)
workers, samples, sample_ms, batch_size, cpu_ms = map(int, sys.argv[1:])
others = [
    subprocess.Popen([sys.executable, "-S", "-E", "-c", "while True: sum(range(100_000))"])
    for _ in os.sched_getaffinity(0)
]
try:
    loader = DataLoader(Samples(samples, sample_ms), batch_size=batch_size, num_workers=workers)
    loop = Loop("loader-1", "train")
    weights = torch.nn.Linear(64, 1)
    loop.begins()
    for batch in loader:
        loop.has_batch()
        until = time.thread_time() + cpu_ms / 1e3
        while time.thread_time() < until:
            weights(batch).sum().backward()
        loop.is_done()
    loop.ends()
finally:
    for other in others:
        other.kill()
write(loop, num_workers=workers)
