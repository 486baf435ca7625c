"""A loop over batches of a few numbers, which load in no time, on cores that other processes fill."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import torch
from noted import Loop, Samples, write
from torch.utils.data import DataLoader

CPU_MS = 2.0

torch.set_num_threads(1)
others = [
    subprocess.Popen([sys.executable, "-S", "-E", "-c", "while True: sum(range(100_000))"])
    for _ in os.sched_getaffinity(0)
]
try:
    loader = DataLoader(Samples(2_400, 0), batch_size=4, num_workers=2)
    loop = Loop("loader-1", "train")
    weights = torch.nn.Linear(64, 1)
    loop.begins()
    for batch in loader:
        loop.has_batch()
        until = time.thread_time() + CPU_MS / 1e3
        while time.thread_time() < until:
            weights(batch).sum().backward()
        loop.is_done()
    loop.ends()
finally:
    for other in others:
        other.kill()
write(loop, num_workers=2)
