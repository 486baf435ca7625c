"""Somebody tries whether it starts: 34 steps."""

from __future__ import annotations

import torch
from noted import Loop, Samples, work, write
from torch.utils.data import DataLoader

torch.set_num_threads(1)
loader = DataLoader(Samples(68, 20), batch_size=2)
loop = Loop("loader-1", "train")
weights = torch.nn.Linear(64, 1)
loop.begins()
for batch in loader:
    loop.has_batch()
    weights(batch).sum().backward()
    work(35)
    loop.is_done()
loop.ends()
write(loop)
