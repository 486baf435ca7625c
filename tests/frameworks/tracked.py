"""Trains with a framework, its own logger or reporter beside: ``python -m tests.frameworks.tracked WHICH DIRECTORY``.

What these stored is in the directory then. Loading takes as long as the step's own work, so the data stall is about a
half. Ends once figures were logged, after ``MOST_STEPS`` at the latest.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

import underfed

MOST_STEPS = 3_000
LOAD_S = WORK_S = 0.01
EVERY = 10


class Samples(Dataset[Any]):
    def __init__(self, *, is_labelled: bool = False) -> None:
        self.is_labelled = is_labelled

    def __len__(self) -> int:
        return MOST_STEPS

    def __getitem__(self, index: int) -> Any:
        time.sleep(LOAD_S)
        return {"number": torch.ones(1), "labels": torch.zeros(1)} if self.is_labelled else torch.ones(1)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(1, 1)

    def forward(self, number: Tensor, labels: Tensor) -> dict[str, Tensor]:
        time.sleep(WORK_S)
        return {"loss": ((self.layer(number) - labels) ** 2).mean()}


def is_known() -> bool:
    return bool(underfed.stats()["steps"])


def with_lightning(directory: str) -> None:
    import lightning
    from lightning.pytorch.loggers import CSVLogger

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = Model()
            self.left = EVERY

        def training_step(self, batch: Tensor, index: int) -> Tensor:
            self.left -= is_known()
            self.trainer.should_stop = self.left < 0
            loss: Tensor = self.model(batch, torch.zeros(1))["loss"]
            self.log("loss", loss)
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.01)

    lightning.Trainer(
        accelerator="cpu",
        max_epochs=1,
        logger=CSVLogger(directory, name="", version=""),
        log_every_n_steps=EVERY,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    ).fit(Module(), DataLoader(Samples()))


def with_transformers(directory: str) -> None:
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Reporter(TrainerCallback):
        """Stands where W&B's would: among the trainer's own callbacks."""

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            with Path(directory, "logged.jsonl").open("a") as file:
                file.write(json.dumps(logs) + "\n")
            control.should_training_stop = any("underfed" in name for name in logs)

    settings = {"logging_steps": EVERY, "report_to": [], "use_cpu": True, "disable_tqdm": True, "save_strategy": "no"}
    arguments = TrainingArguments(directory, per_device_train_batch_size=1, num_train_epochs=1, **settings)
    Trainer(Model(), arguments, train_dataset=Samples(is_labelled=True), callbacks=[Reporter()]).train()


def with_accelerate(directory: str) -> None:
    from accelerate import Accelerator
    from accelerate.tracking import GeneralTracker

    from underfed.integrations.accelerate import UnderfedTracker

    class Reporter(GeneralTracker):
        name = "reporter"
        requires_logging_directory = False
        tracker = None

        def log(self, values: dict[str, Any], step: int | None = None, **_: Any) -> None:
            with Path(directory, "logged.jsonl").open("a") as file:
                file.write(json.dumps(values) + "\n")

    accelerator = Accelerator(log_with=[UnderfedTracker(), Reporter()], cpu=True)
    accelerator.init_trackers("trackers", config={"learning_rate": 0.01, "schedule": None})
    model = Model()
    loader = accelerator.prepare(DataLoader(Samples()))
    left = EVERY
    for index, batch in enumerate(loader):
        accelerator.backward(model(batch, torch.zeros(1))["loss"])
        left -= is_known()
        if index % EVERY == 0:
            accelerator.log({"loss": 1.0}, step=index)
        if left < 0:
            break
    accelerator.end_training()


FRAMEWORKS = {"lightning": with_lightning, "transformers": with_transformers, "accelerate": with_accelerate}


def logged_by(which: str, directory: str) -> list[dict[str, Any]]:
    """What was stored by a training in this process."""
    FRAMEWORKS[which](directory)
    return stored(which, Path(directory))


def stored(which: str, directory: Path) -> list[dict[str, Any]]:
    if which == "lightning":
        return list(csv.DictReader((directory / "metrics.csv").read_text().splitlines()))
    return [json.loads(line) for line in (directory / "logged.jsonl").read_text().splitlines()]


SCALARS = {"underfed/data_stall_fraction", "underfed/data_wait_us", "underfed/data_wait_p95_us", "underfed/steps_per_s"}


def require_figures(rows: list[dict[str, Any]]) -> None:
    assert any(row.get("loss") for row in rows), "the training's own are still there"
    logged = [row for row in rows if row.get("underfed/data_stall_fraction")]
    assert logged
    assert all(set(row) >= SCALARS for row in logged)
    assert 0 < float(logged[-1]["underfed/data_stall_fraction"]) < 1
    assert float(logged[-1]["underfed/data_wait_us"]) >= 10_000


if __name__ == "__main__":
    FRAMEWORKS[sys.argv[1]](sys.argv[2])
