"""A folder of JPEG photographs: decoded, cropped at random, resized and normalised in Pillow and NumPy."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, made_once, parser, worker_settings

SIDE = 160


class Photographs(Dataset[Tensor]):
    def __init__(self, folder: Path, *, draft: bool) -> None:
        self.files = sorted(folder.glob("*.jpg"))
        self.draft = draft

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Tensor:
        with Image.open(self.files[index % len(self.files)]) as picture:
            if self.draft:
                # The decoder leaves out what a picture of this size does not show.
                picture.draft("RGB", (SIDE, SIDE))
            picture.load()
        width, height = picture.size
        side = random.randint(min(width, height) * 3 // 4, min(width, height))
        left, top = random.randint(0, width - side), random.randint(0, height - side)
        crop = picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR, (left, top, left + side, top + side))
        pixels = (np.asarray(crop, dtype=np.float32) / 255 - 0.45) / 0.22
        return torch.from_numpy(pixels.transpose(2, 0, 1).copy())


def make_photographs(folder: Path) -> None:
    chance = np.random.default_rng(5)
    for number in range(96):
        coarse = Image.fromarray(chance.integers(0, 256, (45, 60, 3), dtype=np.uint8))
        coarse.resize((960, 720), Image.Resampling.BICUBIC).save(folder / f"{number:03}.jpg", quality=90)


def main() -> None:
    arguments = parser(__doc__, steps=200, batch_size=16, num_workers=2)
    arguments.add_argument("--draft", action="store_true", help="decode at reduced size")
    args = arguments.parse_args()
    torch.set_num_threads(1)
    folder = made_once(args.data / "photographs", make_photographs)
    loader = DataLoader(
        Photographs(folder, draft=args.draft), args.batch_size, shuffle=True, drop_last=True, **worker_settings(args)
    )
    loop = Loop(args.steps)
    for _ in loader:
        device_work(0.030)
        if loop.step():
            break
    loop.report()


if __name__ == "__main__":
    main()
