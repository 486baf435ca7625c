"""The recipe of torchvision's own references: an ``ImageFolder`` of photographs that Pillow decodes and resizes."""

from __future__ import annotations

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.loop import train_for
from tests.scenarios.pipelines.photographs import SECONDS, photograph_folder
from tests.scenarios.pipelines.pipeline import Pipeline, Strength

WORK_MS: dict[Strength, float] = {"none": 400, "weak": 60, "clear": 20, "strong": 5}


def run(strength: Strength) -> None:
    from torchvision import datasets, transforms  # type: ignore[import-not-found]

    steps = [
        transforms.RandomResizedCrop(224),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ]
    folder = datasets.ImageFolder(photograph_folder(), transforms.Compose(steps))
    loader = DataLoader(folder, batch_size=16, shuffle=True, num_workers=2, persistent_workers=True, drop_last=True)
    train_for(loader, work_ms=WORK_MS[strength], seconds=SECONDS)


PIPELINE = Pipeline("cpu_limited", run, needs=("torchvision",))
