"""Pictures that workers decode and resize, on cores that other processes fill."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import numpy as np
import torch
from noted import Loop, SharedClock, work, write
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

WORK_MS = 40.0


def encoded(seed: int) -> bytes:
    """A JPEG of 800 × 600 pixels."""
    pixels = np.random.default_rng(seed).integers(0, 255, (30, 40, 3), dtype=np.uint8)
    kept = io.BytesIO()
    Image.fromarray(pixels).resize((800, 600), Image.Resampling.BICUBIC).save(kept, "JPEG", quality=90)
    return kept.getvalue()


class Pictures(Dataset[Tensor]):
    def __init__(self) -> None:
        self.files = [encoded(seed) for seed in range(16)]
        self.clock = SharedClock()

    def __len__(self) -> int:
        return 1_920

    def __getitem__(self, index: int) -> Tensor:
        with self.clock:
            image = Image.open(io.BytesIO(self.files[index % len(self.files)])).convert("RGB").resize((224, 224))
            return torch.from_numpy(np.asarray(image).copy())


torch.set_num_threads(1)
workers = int(sys.argv[1])
others = [
    subprocess.Popen([sys.executable, "-S", "-E", "-c", "while True: sum(range(100_000))"])
    for _ in os.sched_getaffinity(0)
]
try:
    pictures = Pictures()
    loop = Loop("loader-1", "train")
    loop.begins()
    for _batch in DataLoader(pictures, batch_size=8, num_workers=workers):
        loop.has_batch()
        work(WORK_MS)
        loop.is_done()
    loop.ends()
finally:
    for other in others:
        other.kill()
write(loop, num_workers=workers, loading=pictures.clock.figures())
