"""A sample that cannot be read ends the training, in a worker."""

from __future__ import annotations

import torch
from noted import Loop, Samples, work, write
from torch import Tensor
from torch.utils.data import DataLoader


class Broken(Samples):
    def __getitem__(self, index: int) -> Tensor:
        if index == 207:
            raise OSError(f"image file is truncated (sample {index})")
        return super().__getitem__(index)


torch.set_num_threads(1)
loader = DataLoader(Broken(400, 60), batch_size=1, num_workers=2)
loop = Loop("loader-1", "train")
weights = torch.nn.Linear(64, 1)
loop.begins()
try:
    for batch in loader:
        loop.has_batch()
        weights(batch).sum().backward()
        work(20)
        loop.is_done()
finally:
    loop.ends()
    write(loop)
