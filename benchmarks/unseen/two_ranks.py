"""Two ranks train together; on the second either a read is late now and then, or each step takes twice as long."""

from __future__ import annotations

import random
import time

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from benchmarks.unseen.job import Loop, device_work, parser, worker_settings

BATCH = 16


class Frames(Dataset[Tensor]):
    """``late``: of this rank's samples so few are late that half a second is lost in about one step of a hundred."""

    def __init__(self, *, late: bool) -> None:
        self.late = late

    def __len__(self) -> int:
        return 200_000

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(0.0002)
        if self.late and random.Random(index).random() < 0.01 / BATCH:
            time.sleep(0.5)
        return torch.full((64,), float(index % 11))


def main() -> None:
    arguments = parser(__doc__, steps=800, batch_size=BATCH, num_workers=1)
    arguments.add_argument("--slow", choices=["reader", "compute", "none"], default="reader")
    args = arguments.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    is_second = dist.get_rank() == 1
    frames = Frames(late=is_second and args.slow == "reader")
    loader = DataLoader(frames, args.batch_size, sampler=DistributedSampler(frames), **worker_settings(args))
    model = DistributedDataParallel(nn.Linear(64, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    loop = Loop(args.steps)
    for batch in loader:
        device_work(0.030 if is_second and args.slow == "compute" else 0.015)
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loop.step():
            break
    if dist.get_rank() == 0:
        loop.report()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
