"""A loop that is starved by a loader without workers, and tunes itself (``underfed run --tune``)."""

from __future__ import annotations

import torch
from noted import Loop, Samples, work, write
from torch.utils.data import DataLoader

torch.set_num_threads(1)
loader = DataLoader(Samples(1000, 30), batch_size=1)
loop = Loop("loader-1", "train")
weights = torch.nn.Linear(64, 1)
loop.begins()
for batch in loader:
    loop.has_batch()
    weights(batch).sum().backward()
    work(15)
    loop.is_done()
loop.ends()
write(loop)
