"""Photographs in shards that WebDataset reads and decodes, and a function of the program resizes."""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from tests.scenarios.pipelines.loop import train_for
from tests.scenarios.pipelines.photographs import SECONDS, Photograph, photographs
from tests.scenarios.pipelines.pipeline import Pipeline, Strength

WORK_MS: dict[Strength, float] = {"none": 500, "weak": 60, "clear": 20, "strong": 5}
SHARDS = 4


def prepared(sample: tuple[Any, int]) -> tuple[Tensor, int]:
    image, label = sample
    resized = image.resize((224, 224))
    return torch.from_numpy(np.asarray(resized, dtype=np.float32) / 255.0).permute(2, 0, 1), label


def write_shard(path: Path, files: Sequence[Photograph]) -> str:
    with tarfile.open(path, "w") as shard:
        for index, file in enumerate(files):
            contents = {"jpg": file.path.read_bytes(), "cls": str(file.label).encode()}
            for ending, content in contents.items():
                member = tarfile.TarInfo(f"{index:06}.{ending}")
                member.size = len(content)
                shard.addfile(member, io.BytesIO(content))
    return str(path)


def run(strength: Strength) -> None:
    import webdataset as wds

    files = photographs()
    with tempfile.TemporaryDirectory(prefix="shards-") as directory:
        parts = [files[first::SHARDS] for first in range(SHARDS)]
        shards = [write_shard(Path(directory) / f"{number:06}.tar", part) for number, part in enumerate(parts)]
        samples = wds.WebDataset(shards, shardshuffle=False).decode("pil").to_tuple("jpg", "cls").map(prepared)
        loader = DataLoader(samples, batch_size=16, num_workers=2, persistent_workers=True, drop_last=True)
        train_for(loader, work_ms=WORK_MS[strength], seconds=SECONDS)


PIPELINE = Pipeline("cpu_limited", run, needs=("webdataset",))
