"""A loop that keeps up, stands still every 100 steps to write a checkpoint, and once for a breakpoint."""

from __future__ import annotations

import torch
from noted import Loop, Samples, pause, work, write
from torch.utils.data import DataLoader

import underfed

torch.set_num_threads(1)
loader = underfed.watch(DataLoader(Samples(500, 12), batch_size=1, num_workers=1), "train")
loop = Loop("train", "train")
weights = torch.nn.Linear(64, 1)
loop.begins()
for number, batch in enumerate(loader, start=1):
    loop.has_batch()
    weights(batch).sum().backward()
    work(15)
    if number % 100 == 0:
        with pause("checkpoint"):
            torch.save(weights.state_dict(), "checkpoint.pt")
            work(1_800)
    if number == 260:
        with pause("program"):
            work(4_000)
    loop.is_done()
loop.ends()
write(loop)
