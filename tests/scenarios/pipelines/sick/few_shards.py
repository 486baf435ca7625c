"""A stream in two tar files for four workers: each reads files of its own, and two have none."""

from __future__ import annotations

import io
import tarfile
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength

LOAD_MS: dict[Strength, float] = {"none": 20, "weak": 46, "clear": 80, "strong": 160}
WORK_MS = 20
WORKERS, SHARDS = 4, 2
STEPS: dict[Strength, int] = {"none": 100, "weak": 160, "clear": 120, "strong": 80}


def write_shards(folder: Path, shards: int, samples: int) -> list[str]:
    content = b"0" * 256
    for shard in range(shards):
        with tarfile.open(folder / f"{shard}.tar", "w") as tar:
            for number in range(samples // shards):
                member = tarfile.TarInfo(f"{shard}-{number}.bin")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return [str(folder / f"{shard}.tar") for shard in range(shards)]


def decode(ms: float, sample: dict[str, Any]) -> Tensor:
    wait(ms)
    return torch.frombuffer(bytearray(sample["bin"]), dtype=torch.uint8)


def run(strength: Strength) -> None:
    import webdataset

    shards = WORKERS if strength == "none" else SHARDS
    with TemporaryDirectory() as folder:
        files = write_shards(Path(folder), shards, STEPS[strength])
        stream = webdataset.WebDataset(files, shardshuffle=False, empty_check=False)
        loads = partial(decode, LOAD_MS[strength])
        train(DataLoader(stream.map(loads), batch_size=None, num_workers=WORKERS), work_ms=WORK_MS)


PIPELINE = Pipeline("few_shards", run)
