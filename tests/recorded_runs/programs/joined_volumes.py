"""Volumes that lie in memory, of which joining 16 to a batch is nearly all of loading."""

from __future__ import annotations

import numpy as np
import torch
from noted import Loop, SharedClock, work, write
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, default_collate

WORK_MS = 15.0


class Volumes(Dataset[Tensor]):
    def __init__(self) -> None:
        self.data = np.random.default_rng(0).random((24, 32, 128, 128), dtype=np.float32)

    def __len__(self) -> int:
        return 4_800

    def __getitem__(self, index: int) -> Tensor:
        return torch.from_numpy(self.data[index % len(self.data)])


class Joining:
    def __init__(self) -> None:
        self.clock = SharedClock()

    def __call__(self, samples: list[Tensor]) -> Tensor:
        with self.clock:
            joined: Tensor = default_collate(samples)
        return joined


torch.set_num_threads(1)
joining = Joining()
loop = Loop("loader-1", "train")
loop.begins()
for _batch in DataLoader(Volumes(), batch_size=16, num_workers=1, collate_fn=joining):
    loop.has_batch()
    del _batch  # else it is released within the next request
    work(WORK_MS)
    loop.is_done()
loop.ends()
write(loop, joining=joining.clock.figures())
