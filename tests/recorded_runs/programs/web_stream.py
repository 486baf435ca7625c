"""Shards of a stream, decoded by one worker that has much more to do than the loop."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import torch
import webdataset
from noted import Loop, work, write
from PIL import Image

SHARDS, PICTURES = 4, 60


def make_shards() -> None:
    random = np.random.default_rng(1)
    for shard in range(SHARDS):
        with tarfile.open(f"photos-{shard:02}.tar", "w") as tar:
            for number in range(PICTURES):
                coarse = Image.fromarray(random.integers(0, 256, (18, 24, 3), dtype=np.uint8))
                body = io.BytesIO()
                coarse.resize((640, 480), Image.Resampling.BICUBIC).save(body, "JPEG", quality=90)
                entry = tarfile.TarInfo(f"{shard:02}-{number:04}.jpg")
                entry.size = body.tell()
                body.seek(0)
                tar.addfile(entry, body)


def pixels(sample: dict[str, bytes]) -> torch.Tensor:
    picture = Image.open(io.BytesIO(sample["jpg"])).resize((224, 224))
    return torch.from_numpy(np.asarray(picture).copy())


torch.set_num_threads(1)
if not Path("photos-00.tar").exists():
    make_shards()
stream = webdataset.WebDataset([f"photos-{shard:02}.tar" for shard in range(SHARDS)], shardshuffle=False)
loader = webdataset.WebLoader(stream.map(pixels), batch_size=2, num_workers=1)
loop = Loop("loader-1", "train")
weights = torch.nn.Linear(1, 1)
for _ in range(2):
    loop.begins()
    for batch in loader:
        loop.has_batch()
        weights(batch.float().mean().reshape(1)).sum().backward()
        work(8)
        loop.is_done()
    loop.ends()
write(loop)
