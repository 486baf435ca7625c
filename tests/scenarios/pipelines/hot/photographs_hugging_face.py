"""Photographs of a Hugging Face data set, decoded and resized by its transform when a batch is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from tests.scenarios.pipelines.loop import train_for
from tests.scenarios.pipelines.photographs import SECONDS, photographs
from tests.scenarios.pipelines.pipeline import Pipeline, Strength

WORK_MS: dict[Strength, float] = {"none": 500, "weak": 60, "clear": 20, "strong": 5}


def prepared(samples: dict[str, list[Any]]) -> dict[str, list[Any]]:
    pixels = []
    for image in samples["image"]:
        resized = image.convert("RGB").resize((224, 224))
        pixels.append(torch.from_numpy(np.asarray(resized, dtype=np.float64) / 255.0).permute(2, 0, 1).float())
    return {"pixel_values": pixels, "label": samples["label"]}


def run(strength: Strength) -> None:
    import datasets  # type: ignore[import-not-found]

    files = photographs()
    columns = {"image": [str(file.path) for file in files], "label": [file.label for file in files]}
    table = datasets.Dataset.from_dict(columns).cast_column("image", datasets.Image()).with_transform(prepared)
    loader = DataLoader(table, batch_size=16, shuffle=True, num_workers=2, persistent_workers=True, drop_last=True)
    train_for(loader, work_ms=WORK_MS[strength], seconds=SECONDS)


PIPELINE = Pipeline("cpu_limited", run, needs=("datasets",))
