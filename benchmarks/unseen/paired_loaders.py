"""Semi-supervised training in the manner of FixMatch: a labelled and an unlabelled loader, zipped."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, made_once, parser, worker_settings

SIDE = 64


class LabelledCrops(Dataset[tuple[Tensor, int]]):
    """A small set that is held in memory."""

    def __init__(self) -> None:
        self.images = torch.randint(0, 256, (512, 3, SIDE, SIDE), dtype=torch.uint8)

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return self.images[index % len(self.images)].float() / 255, index % 10


class UnlabelledFiles(Dataset[Tensor]):
    """One file a picture on storage that answers after two milliseconds."""

    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.glob("*.npy"))

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(0.002)
        return torch.from_numpy(np.load(self.files[index % len(self.files)])).float() / 255


def make_files(folder: Path) -> None:
    random = np.random.default_rng(1)
    for number in range(256):
        np.save(folder / f"{number:04}.npy", random.integers(0, 256, (3, SIDE, SIDE), dtype=np.uint8))


def main() -> None:
    arguments = parser(__doc__, steps=400, batch_size=16, num_workers=2)
    arguments.add_argument("--unlabelled-workers", type=int, default=0)
    args = arguments.parse_args()
    files = made_once(args.data / "unlabelled", make_files)
    labelled = DataLoader(LabelledCrops(), batch_size=args.batch_size, shuffle=True, **worker_settings(args))
    unlabelled = DataLoader(
        UnlabelledFiles(files), batch_size=args.batch_size, shuffle=True, num_workers=args.unlabelled_workers
    )
    loop = Loop(args.steps)
    for (images, _), more_images in zip(labelled, unlabelled, strict=True):
        assert images.shape == more_images.shape
        device_work(0.020)
        if loop.step():
            break
    loop.report()


if __name__ == "__main__":
    main()
