"""WebDataset with two shards and four workers: two of the workers have nothing to read."""

from __future__ import annotations

import io
import tarfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import webdataset
from torch import Tensor
from torch.utils.data import DataLoader

from benchmarks.unseen.job import Loop, device_work, made_once, parser, worker_settings

SAMPLES = 8_000


def make_shards(folder: Path, shards: int) -> None:
    content = io.BytesIO()
    np.save(content, np.zeros(256, dtype=np.float32))
    for shard in range(shards):
        with tarfile.open(folder / f"{shard:03}.tar", "w") as tar:
            for number in range(SAMPLES // shards):
                member = tarfile.TarInfo(f"{shard:03}{number:06}.npy")
                member.size = content.getbuffer().nbytes
                tar.addfile(member, io.BytesIO(content.getvalue()))


def decode(sample: dict[str, Any]) -> tuple[Tensor]:
    """A second look-up for each sample: a label service that answers after three milliseconds."""
    time.sleep(0.003)
    return (torch.from_numpy(np.load(io.BytesIO(sample["npy"]))),)


def main() -> None:
    arguments = parser(__doc__, steps=490, batch_size=16, num_workers=4)
    arguments.add_argument("--shards", type=int, default=2)
    args = arguments.parse_args()
    folder = made_once(args.data / f"shards-{args.shards}", lambda folder: make_shards(folder, args.shards))
    shards = [str(shard) for shard in sorted(folder.glob("*.tar"))]
    samples = webdataset.WebDataset(shards, shardshuffle=False, empty_check=False).map(decode)
    loader: DataLoader[tuple[Tensor]] = DataLoader(
        samples.batched(args.batch_size), batch_size=None, **worker_settings(args)
    )
    loop = Loop(args.steps)
    while not loop.done:
        for _ in loader:
            device_work(0.008)
            if loop.step():
                break
    loop.report()


if __name__ == "__main__":
    main()
