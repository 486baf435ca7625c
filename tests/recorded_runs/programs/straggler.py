"""Eight ranks that wait for one another in each step; the storage of one of them answers late."""

from __future__ import annotations

import torch
import torch.distributed as dist
from noted import Loop, Samples, work, write
from torch.utils.data import DataLoader

SLOW_RANK = 5

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
loader = DataLoader(Samples(150, 90 if rank == SLOW_RANK else 20), batch_size=1, num_workers=1)
loop = Loop("loader-1", "train")
loss = torch.zeros(1)
loop.begins()
for _batch in loader:
    loop.has_batch()
    work(40)
    dist.all_reduce(loss)
    loop.is_done()
loop.ends()
write(loop, slow_rank=SLOW_RANK)
dist.destroy_process_group()
