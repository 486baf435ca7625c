"""Accelerate's loop, with workers started anew in each of many short epochs."""

from __future__ import annotations

import torch
from accelerate import Accelerator
from noted import Loop, Samples, work, write
from torch.utils.data import DataLoader

torch.set_num_threads(1)
accelerator = Accelerator(cpu=True)
weights = torch.nn.Linear(64, 1)
optimizer = torch.optim.SGD(weights.parameters(), 0.001)
loader = DataLoader(Samples(72, 14), batch_size=2, num_workers=2, shuffle=True)
weights, optimizer, loader = accelerator.prepare(weights, optimizer, loader)
loop = Loop("loader-1", "train")
for _ in range(8):
    loop.begins()
    for batch in loader:
        loop.has_batch()
        optimizer.zero_grad()
        accelerator.backward(weights(batch).mean() * 1e-3)
        optimizer.step()
        work(22)
        loop.is_done()
    loop.ends()
write(loop)
