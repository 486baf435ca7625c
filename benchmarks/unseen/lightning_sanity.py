"""A Lightning module: two validation batches as a check before training, the training set loads in the main process."""

from __future__ import annotations

import logging
import time
import warnings
from typing import Any

import lightning
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, parser, worker_settings


class RemoteCrops(Dataset[Tensor]):
    """Each sample is a request that takes one and a half milliseconds."""

    def __len__(self) -> int:
        return 16 * 100

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(0.0015)
        return torch.full((48,), float(index % 7))


class HeldOutCrops(Dataset[Tensor]):
    def __len__(self) -> int:
        return 16 * 20

    def __getitem__(self, index: int) -> Tensor:
        return torch.full((48,), float(index % 5))


class Regressor(lightning.LightningModule):  # type: ignore[misc, unused-ignore]
    def __init__(self, loop: Loop) -> None:
        super().__init__()
        self.net = nn.Linear(48, 1)
        self.loop = loop

    def training_step(self, batch: Tensor, _: int) -> Tensor:
        device_work(0.012)
        loss: Tensor = self.net(batch).square().mean()
        return loss

    def validation_step(self, batch: Tensor, _: int) -> None:
        device_work(0.008)
        self.net(batch)

    def on_train_start(self) -> None:
        self.loop.began_at = time.perf_counter()

    def on_train_batch_end(self, *_: Any) -> None:
        self.loop.step()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.01)


def main() -> None:
    args = parser(__doc__, steps=500, batch_size=16, num_workers=0).parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    train = DataLoader(RemoteCrops(), args.batch_size, shuffle=True, **worker_settings(args))
    validation = DataLoader(HeldOutCrops(), args.batch_size, num_workers=1, persistent_workers=True)
    loop = Loop(args.steps)
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_steps=args.steps,
        max_epochs=-1,
        num_sanity_val_steps=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Regressor(loop), train, validation)
    loop.report()


if __name__ == "__main__":
    main()
