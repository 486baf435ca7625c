"""Photographs that OpenCV decodes and Albumentations augments, as its documentation does."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from tests.scenarios.pipelines.loop import train_for
from tests.scenarios.pipelines.photographs import SECONDS, Photograph, photographs
from tests.scenarios.pipelines.pipeline import Pipeline, Strength

WORK_MS: dict[Strength, float] = {"none": 700, "weak": 60, "clear": 20, "strong": 5}


class Augmented(Dataset[tuple[Tensor, int]]):
    def __init__(self, files: list[Photograph], transform: Any) -> None:
        self.files = files
        self.transform = transform

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        import cv2  # type: ignore[import-not-found]

        file = self.files[index]
        image = cv2.imread(str(file.path))
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        image = self.transform(image=image)["image"]
        return torch.from_numpy(image).permute(2, 0, 1), file.label


def run(strength: Strength) -> None:
    import albumentations as A  # type: ignore[import-not-found]  # noqa: N812 - as everybody imports it
    import cv2

    cv2.setNumThreads(0)
    steps = [
        A.RandomResizedCrop(size=(224, 224)),
        A.HorizontalFlip(),
        A.GaussianBlur(p=1.0),
        A.ColorJitter(p=1.0),
        A.Normalize(),
    ]
    augmented = Augmented(photographs(), A.Compose(steps))
    loader = DataLoader(augmented, batch_size=16, shuffle=True, num_workers=2, persistent_workers=True, drop_last=True)
    train_for(loader, work_ms=WORK_MS[strength], seconds=SECONDS)


PIPELINE = Pipeline("cpu_limited", run, needs=("albumentations", "cv2"))
