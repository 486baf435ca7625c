"""Accelerate on two ranks, where rank 0 loads the batches of both and sends the other its half."""

from __future__ import annotations

import time

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, parser, worker_settings


class Requests(Dataset[Tensor]):
    def __len__(self) -> int:
        return 200_000

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(0.002)
        return torch.full((64,), float(index % 9))


def main() -> None:
    arguments = parser(__doc__, steps=350, batch_size=16, num_workers=0)
    arguments.add_argument("--each-loads", action="store_true", help="each rank loads its own batches")
    args = arguments.parse_args()
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(dispatch_batches=not args.each_loads))
    net = nn.Linear(64, 1)
    model, optimizer, loader = accelerator.prepare(
        net,
        torch.optim.SGD(net.parameters(), lr=0.001),
        DataLoader(Requests(), args.batch_size, shuffle=True, **worker_settings(args)),
    )
    loop = Loop(args.steps)
    for batch in loader:
        loss = model(batch).square().mean()
        device_work(0.015)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        if loop.step():
            break
    if accelerator.is_main_process:
        loop.report()
    accelerator.end_training()


if __name__ == "__main__":
    main()
