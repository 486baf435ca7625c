"""Training from memory, a validation on full-size pictures after each epoch, and a short check before the first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, made_once, parser, worker_settings

STEPS_PER_EPOCH = 60
VALIDATION_BATCHES = 20


class CachedCrops(Dataset[Tensor]):
    def __init__(self, length: int) -> None:
        self.crops = torch.rand(256, 3, 64, 64)
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Tensor:
        return self.crops[index % len(self.crops)]


class FullPictures(Dataset[Tensor]):
    def __init__(self, folder: Path, length: int) -> None:
        self.files = sorted(folder.glob("*.png"))
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Tensor:
        with Image.open(self.files[index % len(self.files)]) as picture:
            pixels = np.asarray(picture.convert("RGB"), dtype=np.float32) / 255
        return torch.from_numpy(pixels).permute(2, 0, 1)


def make_pictures(folder: Path) -> None:
    random = np.random.default_rng(2)
    for number in range(48):
        coarse = random.integers(0, 256, (24, 32, 3), dtype=np.uint8)
        picture = Image.fromarray(coarse).resize((512, 384), Image.Resampling.BICUBIC)
        picture.save(folder / f"{number:03}.png", compress_level=6)


def validate(loader: DataLoader[Any], batches: int | None = None) -> None:
    for index, _ in enumerate(loader):
        device_work(0.004)
        if batches is not None and index + 1 >= batches:
            return


def main() -> None:
    arguments = parser(__doc__, steps=600, batch_size=16, num_workers=2)
    arguments.add_argument("--validation-workers", type=int, default=0)
    args = arguments.parse_args()
    torch.set_num_threads(1)
    pictures = made_once(args.data / "pictures", make_pictures)
    train = DataLoader(
        CachedCrops(STEPS_PER_EPOCH * args.batch_size), args.batch_size, shuffle=True, **worker_settings(args)
    )
    validation = DataLoader(
        FullPictures(pictures, VALIDATION_BATCHES * 8),
        batch_size=8,
        num_workers=args.validation_workers,
        persistent_workers=args.validation_workers > 0,
    )
    validate(validation, batches=2)
    loop = Loop(args.steps)
    while not loop.done:
        for _ in train:
            device_work(0.025)
            if loop.step():
                break
        validate(validation)
    loop.report()


if __name__ == "__main__":
    main()
