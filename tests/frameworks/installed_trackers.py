"""Trains while it logs with W&B, MLflow and TensorBoard: ``python -m tests.frameworks.installed_trackers DIRECTORY``.

With ``read`` as second argument it reads back what lies there of Underfed's, and prints it as JSON; with a number it
trains so many steps, and then ends its runs itself.
"""

from __future__ import annotations

import json
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STEPS, EVERY = 800, 10
LOAD_S = WORK_S = 0.01


def train(directory: Path, steps: int = STEPS, *, ends_runs: bool = False) -> None:
    import mlflow
    import torch
    import wandb
    from torch.utils.data import DataLoader, Dataset
    from torch.utils.tensorboard import SummaryWriter

    class Samples(Dataset[Any]):
        def __len__(self) -> int:
            return steps

        def __getitem__(self, index: int) -> Any:
            time.sleep(LOAD_S)
            return torch.ones(1)

    wandb.init(project="underfed", dir=directory, mode="offline")
    mlflow.set_tracking_uri(f"sqlite:///{directory}/ml.db")
    mlflow.start_run()
    events = SummaryWriter(directory / "events")
    weight = torch.ones(1, requires_grad=True)
    waited_s, begun = 0.0, time.perf_counter()
    asked = begun
    for index, batch in enumerate(DataLoader(Samples())):
        waited_s += time.perf_counter() - asked
        (batch * weight).sum().backward()
        time.sleep(WORK_S)
        if index % EVERY == 0:
            wandb.log({"loss": 1.0})
            mlflow.log_metric("loss", 1.0, step=index)
            events.add_scalar("loss", 1.0, index)
        asked = time.perf_counter()
    (directory / "own.json").write_text(json.dumps(waited_s / (asked - begun)))
    if ends_runs:
        finished_at = time.perf_counter()
        wandb.finish()
        (directory / "finish.json").write_text(json.dumps(time.perf_counter() - finished_at))
        mlflow.end_run()
        events.close()


def read(directory: Path) -> dict[str, Any]:
    return {
        "own": json.loads((directory / "own.json").read_text()),
        "wandb": read_wandb(directory),
        "mlflow": read_mlflow(directory),
        "tensorboard": read_tensorboard(directory),
    }


def read_mlflow(directory: Path) -> dict[str, Any]:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{directory}/ml.db")
    (run,) = client.search_runs(["0"])
    logged = {name: value for name, value in run.data.metrics.items() if "underfed" in name}
    return logged | {name: value for name, value in run.data.tags.items() if "underfed" in name}


def read_tensorboard(directory: Path) -> dict[str, Any]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(directory / "events" / "underfed"))
    found.Reload()
    logged: dict[str, Any] = {tag: found.Scalars(tag)[-1].value for tag in found.Tags()["scalars"]}
    return logged | {tag: found.Tensors(tag)[-1].tensor_proto.string_val[0].decode() for tag in found.Tags()["tensors"]}


def read_wandb(directory: Path) -> dict[str, Any]:
    from wandb.proto.wandb_internal_pb2 import Record

    logged: dict[str, Any] = {}
    (path,) = directory.glob("wandb/offline-run-*/run-*.wandb")
    for content in records(path.read_bytes()):
        record = Record()
        record.ParseFromString(content)
        logged |= {each.key: json.loads(each.value_json) for each in record.stats.item if "underfed" in each.key}
        logged |= {each.key: json.loads(each.value_json) for each in record.summary.update if "underfed" in each.key}
    return logged


def records(content: bytes) -> Iterator[bytes]:
    """Of W&B's file, in LevelDB's log format behind seven bytes: blocks of 32 KiB with whole records or their parts."""
    position, record = 7, b""
    while position + 7 <= len(content):
        left = 32_768 - position % 32_768
        if left < 7:
            position += left
            continue
        _, length, kind = struct.unpack("<IHB", content[position : position + 7])
        part = content[position + 7 : position + 7 + length]
        position += 7 + length
        is_going_on = kind in (3, 4)
        record = record + part if is_going_on else part
        if kind in (1, 4):
            yield record


if __name__ == "__main__":
    directory, *asked = sys.argv[1:]
    if asked == ["read"]:
        print(json.dumps(read(Path(directory))))
    elif asked:
        train(Path(directory), int(asked[0]), ends_runs=True)
    else:
        train(Path(directory))
