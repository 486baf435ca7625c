"""Pictures, then captions, then a validation that has no workers: each waits for data, by a different share."""

from __future__ import annotations

import torch
from noted import Loop, Samples, work, write
from torch.utils.data import DataLoader

import underfed

torch.set_num_threads(1)
pictures = underfed.watch(DataLoader(Samples(55, 2.7), batch_size=1), "pictures")
captions = underfed.watch(DataLoader(Samples(55, 11.5), batch_size=1), "captions")
held_out = underfed.watch(DataLoader(Samples(20, 75), batch_size=2), "held_out")
loops = [Loop("pictures", "train"), Loop("captions", "train"), Loop("held_out", "validation")]
weights = torch.nn.Linear(64, 1)
optimizer = torch.optim.SGD(weights.parameters(), 0.001)

for _ in range(5):
    for loader, loop in zip((pictures, captions), loops, strict=False):
        loop.begins()
        for batch in loader:
            loop.has_batch()
            optimizer.zero_grad()
            (weights(batch) * 1e-3).mean().backward()
            optimizer.step()
            work(25)
            loop.is_done()
        loop.ends()
    loops[2].begins()
    with torch.no_grad():
        for batch in held_out:
            loops[2].has_batch()
            weights(batch)
            work(8)
            loops[2].is_done()
    loops[2].ends()
write(*loops)
