"""One loop that asks two loaders in turn, as for a style transfer: one of them is late in every step."""

from __future__ import annotations

import torch
from noted import Loop, Samples, work, write
from torch.utils.data import DataLoader

import underfed

torch.set_num_threads(1)
photos = underfed.watch(DataLoader(Samples(220, 10), batch_size=1, num_workers=1), "photos")
paintings = underfed.watch(DataLoader(Samples(220, 52), batch_size=1, num_workers=1), "paintings")
loops = [Loop("photos", "train"), Loop("paintings", "train")]
weights = torch.nn.Linear(64, 1)
for loop in loops:
    loop.begins()
left, right = iter(photos), iter(paintings)
while True:
    loops[0].is_done()
    photo = next(left, None)
    if photo is None:
        break
    loops[0].has_batch()
    loops[1].is_done()
    painting = next(right)
    loops[1].has_batch()
    weights(photo + painting).sum().backward()
    work(30)
for loop in loops:
    loop.is_done()
    loop.ends()
write(*loops)
