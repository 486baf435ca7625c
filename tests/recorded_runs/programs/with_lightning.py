"""Lightning: a sanity check, then epochs with a validation after each, which has no workers."""

from __future__ import annotations

from typing import Any

import torch
from lightning import LightningModule, Trainer
from noted import Loop, Samples, work, write
from torch import Tensor
from torch.utils.data import DataLoader


class Holdouts(Samples):
    pass


class Module(LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(64, 1)
        self.train_loop, self.val_loop = Loop("loader-2", "train"), Loop("loader-1", "validation")

    def on_train_epoch_start(self) -> None:
        self.train_loop.begins()

    def training_step(self, batch: Tensor, index: int) -> Any:
        self.train_loop.has_batch()
        work(30)
        return self.layer(batch).mean()

    def on_train_batch_end(self, *_: Any) -> None:
        self.train_loop.is_done()

    def on_validation_epoch_start(self) -> None:
        if self.train_loop.steps:
            self.train_loop.ends()
        self.val_loop.begins()

    def validation_step(self, batch: Tensor, index: int) -> None:
        self.val_loop.has_batch()
        work(6)

    def on_validation_batch_end(self, *_: Any) -> None:
        self.val_loop.is_done()

    def on_validation_epoch_end(self) -> None:
        self.val_loop.ends()

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), 0.001)


torch.set_num_threads(1)
module = Module()
trainer = Trainer(
    accelerator="cpu",
    max_epochs=4,
    logger=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    default_root_dir="checkpoints",
)
trainer.fit(
    module,
    DataLoader(Samples(160, 32), batch_size=2, num_workers=2, persistent_workers=True),
    DataLoader(Holdouts(48, 20), batch_size=4),
)
write(module.train_loop, module.val_loop)
