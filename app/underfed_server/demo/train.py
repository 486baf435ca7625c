"""The training job of the demo: plain PyTorch, and one line of Underfed.

Run as a script, as a user's own job would be: ``python train.py --data DIR --num-workers 0 --seconds 30``; with
``--tune`` it tries other settings of its loader while it trains.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
from PIL import Image, ImageEnhance
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, RandomSampler

import underfed
from underfed_server.demo.photographs import CLASSES, Photograph, photograph_files

SIDE = 128
BATCH = 32


class Photographs(Dataset[tuple[Tensor, int]]):
    """Decodes a JPEG, crops and flips it, changes brightness and colour: what an image classifier trains on."""

    def __init__(self, files: list[Photograph]) -> None:
        self.files = files

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        file = self.files[index]
        with Image.open(file.path) as image:
            picture = random_resized_crop(image.convert("RGB"), SIDE)
        if torch.rand(()) < 0.5:
            picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        picture = ImageEnhance.Brightness(picture).enhance(float(torch.empty(()).uniform_(0.7, 1.3)))
        picture = ImageEnhance.Color(picture).enhance(float(torch.empty(()).uniform_(0.7, 1.3)))
        flat = torch.frombuffer(bytearray(picture.tobytes()), dtype=torch.uint8)
        return flat.view(SIDE, SIDE, 3).permute(2, 0, 1).float().div_(255), file.label


def random_resized_crop(image: Image.Image, side: int) -> Image.Image:
    """A random part of 30–100 % of the area, enlarged or reduced to ``side`` × ``side``."""
    share = float(torch.empty(()).uniform_(0.3, 1.0)) ** 0.5
    width, height = int(image.width * share), int(image.height * share)
    left = int(torch.randint(0, image.width - width + 1, ()))
    top = int(torch.randint(0, image.height - height + 1, ()))
    box = (left, top, left + width, top + height)
    return image.resize((side, side), Image.Resampling.BILINEAR, box=box)


def small_net() -> nn.Module:
    def block(channels: int, wider: int) -> list[nn.Module]:
        return [nn.Conv2d(channels, wider, 3, stride=2, padding=1), nn.BatchNorm2d(wider), nn.ReLU()]

    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, len(CLASSES))]
    return nn.Sequential(*block(3, 16), *block(16, 32), *block(32, 64), *block(64, 128), *head)


LEAST_STEPS = 40
"""A verdict needs 25, and the judge one more window: on a busy machine they take longer than the demo's seconds."""


def steps_until(deadline: float, loader: Iterable[tuple[Tensor, Tensor]]) -> Iterator[tuple[Tensor, Tensor]]:
    for steps, (images, labels) in enumerate(loader, start=1):
        yield images, labels
        if steps >= LEAST_STEPS and time.monotonic() > deadline:
            return


def train(data: Path, num_workers: int, prefetch_factor: int | None, seconds: float, *, tune: bool = False) -> None:
    # One thread computes, as a GPU would: several threads would compete with the workers for the same cores.
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dataset = Photographs(photograph_files(data))
    loader = DataLoader(
        dataset,
        batch_size=BATCH,
        sampler=RandomSampler(dataset, replacement=True, num_samples=1_000_000),
        num_workers=num_workers,
        prefetch_factor=prefetch_factor,
        drop_last=True,
    )
    loader = underfed.watch(loader, name="train", tune=tune)
    model = small_net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for images, labels in steps_until(time.monotonic() + seconds, loader):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()  # type: ignore[no-untyped-call]  # torch does not annotate it
        optimizer.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="directory for the photographs")
    parser.add_argument("--num-workers", type=int, default=0)
    parser.add_argument("--prefetch-factor", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--tune", action="store_true", help="try other settings while it trains")
    arguments = parser.parse_args()
    train(arguments.data, arguments.num_workers, arguments.prefetch_factor, arguments.seconds, tune=arguments.tune)


if __name__ == "__main__":
    main()
