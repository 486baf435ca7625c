"""Hugging Face's Trainer with an evaluation before the first step; text becomes tokens when it is asked for."""

from __future__ import annotations

import random
import re
import time
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments

from benchmarks.unseen.job import Loop, device_work, parser

LENGTH = 128


class Reviews(Dataset[dict[str, Tensor]]):
    def __init__(self, length: int) -> None:
        chance = random.Random(8)
        syllables = ["ta", "ro", "mi", "ke", "su", "no", "la", "vi"]
        words = ["".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(800)]
        self.texts = [" ".join(chance.choices(words, k=400)) + "." for _ in range(200)]
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        text = self.texts[index % len(self.texts)]
        tokens: list[int] = []
        for word in re.findall(r"\w+|\W", text.lower()):
            for start in range(0, len(word), 2):
                token = 7
                for letter in word[start : start + 2]:
                    token = (token * 31 + ord(letter)) % 4_000
                tokens.append(token)
        return {"tokens": torch.tensor(tokens[:LENGTH]), "labels": torch.tensor(index % 2)}


class EvaluationReviews(Reviews):
    """Few, and read after every epoch."""


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.EmbeddingBag(4_000, 32)
        self.head = nn.Linear(32, 2)

    def forward(self, tokens: Tensor, labels: Tensor) -> dict[str, Tensor]:
        device_work(0.010)
        logits = self.head(self.embedding(tokens))
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class CountSteps(TrainerCallback):  # type: ignore[misc, unused-ignore]
    def __init__(self, loop: Loop) -> None:
        self.loop = loop

    def on_epoch_begin(self, *_: Any, **__: Any) -> None:
        if not self.loop.ended_at:
            self.loop.began_at = time.perf_counter()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.loop.step()


def main() -> None:
    args = parser(__doc__, steps=700, batch_size=16, num_workers=0).parse_args()
    torch.set_num_threads(1)
    loop = Loop(args.steps)
    options = TrainingArguments(
        output_dir=str(args.data / "trainer"),
        max_steps=args.steps,
        per_device_train_batch_size=args.batch_size,
        per_device_eval_batch_size=args.batch_size,
        dataloader_num_workers=args.num_workers,
        dataloader_prefetch_factor=args.prefetch_factor if args.num_workers else None,
        dataloader_persistent_workers=args.num_workers > 0,
        eval_on_start=True,
        eval_strategy="steps",
        eval_steps=200,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        logging_steps=100,
        use_cpu=True,
    )
    trainer = Trainer(
        model=Classifier(),
        args=options,
        train_dataset=Reviews(100_000),
        eval_dataset=EvaluationReviews(160),
        callbacks=[CountSteps(loop)],
    )
    trainer.train()
    loop.report()


if __name__ == "__main__":
    main()
