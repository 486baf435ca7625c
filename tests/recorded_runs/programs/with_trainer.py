"""Hugging Face's Trainer: every 60 steps of an epoch an evaluation and a checkpoint."""

from __future__ import annotations

from typing import Any

import torch
from noted import Loop, Samples, work, write
from torch import Tensor
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments


class Labelled(Dataset[dict[str, Tensor]]):
    def __init__(self, samples: Samples) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"text": self.samples[index], "labels": torch.zeros(1)}


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(64, 1)

    def forward(self, text: Tensor, labels: Tensor) -> dict[str, Tensor]:
        work(45 if self.training else 10)
        logits = self.layer(text)
        return {"loss": ((logits - labels) ** 2).mean() * 1e-6, "logits": logits}


class Counted(TrainerCallback):
    def on_step_end(self, *_: Any, **__: Any) -> None:
        loop.steps += 1

    def on_prediction_step(self, *_: Any, **__: Any) -> None:
        evaluated.steps += 1


torch.set_num_threads(1)
loop, evaluated = Loop("loader-1", "train"), Loop("loader-2", "validation")
arguments = TrainingArguments(
    output_dir="checkpoints",
    per_device_train_batch_size=2,
    per_device_eval_batch_size=4,
    max_steps=180,
    eval_strategy="steps",
    eval_steps=60,
    save_steps=60,
    report_to=[],
    disable_tqdm=True,
    use_cpu=True,
    dataloader_num_workers=0,
    logging_strategy="no",
)
Trainer(
    Model(),
    arguments,
    train_dataset=Labelled(Samples(400, 8)),
    eval_dataset=Labelled(Samples(80, 12)),
    callbacks=[Counted()],
).train()
write(loop, evaluated)
