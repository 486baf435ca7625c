"""One turn of a shell's loop: the same training with another number of workers."""

from __future__ import annotations

import sys

import torch
from noted import Loop, Samples, work, write
from torch.utils.data import DataLoader

torch.set_num_threads(1)
workers = int(sys.argv[1])
loader = DataLoader(Samples(90, 30), batch_size=1, num_workers=workers)
loop = Loop("loader-1", "train")
weights = torch.nn.Linear(64, 1)
loop.begins()
for batch in loader:
    loop.has_batch()
    weights(batch).sum().backward()
    work(20)
    loop.is_done()
loop.ends()
write(loop, num_workers=workers)
