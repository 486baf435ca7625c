"""The workload of PyTorch's tutorial "Data Loading Optimization in PyTorch" (May 2026), written from its description.

512 samples, each a random picture of 3 × 224 × 224 floats and a label, with 5 ms of waiting; batches of 32, shuffled,
ten epochs. A data set that is asked for a whole batch at once waits once for it. The tutorial's small model trains on a
GPU; here a step is a wait, as it is to the training thread there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, parser, worker_settings

SAMPLES, BATCH_SIZE, EPOCHS = 512, 32, 10
SAMPLE_S = 0.005
STEP_S = 0.010
"""The last rung's 160 steps take about 3 s in the tutorial, most of it waiting for data still: a step takes less."""
SHAPE = (3, 224, 224)
CLASSES = 10

Sample = tuple[Tensor, int]


class Pictures(Dataset[Sample]):
    """One sample at a time."""

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> Sample:
        time.sleep(SAMPLE_S)
        return torch.randn(SHAPE), int(torch.randint(CLASSES, ()))


class PicturesAtOnce(Pictures):
    """A whole batch at once."""

    def __getitems__(self, indices: Sequence[int]) -> list[Sample]:
        time.sleep(SAMPLE_S)
        pictures, labels = torch.randn(len(indices), *SHAPE), torch.randint(CLASSES, (len(indices),))
        return list(zip(pictures, labels.tolist(), strict=True))


def main() -> None:
    arguments = parser(__doc__, steps=EPOCHS * SAMPLES // BATCH_SIZE, batch_size=BATCH_SIZE, num_workers=0)
    arguments.add_argument("--persistent-workers", action="store_true")
    arguments.add_argument("--at-once", action="store_true", help="the data set has __getitems__")
    args = arguments.parse_args()
    torch.manual_seed(42)
    loader = DataLoader(
        PicturesAtOnce() if args.at_once else Pictures(),
        batch_size=args.batch_size,
        shuffle=True,
        **worker_settings(args, persistent=args.persistent_workers),
    )
    loop = Loop(args.steps)
    while not loop.done:
        for _ in loader:
            device_work(STEP_S)
            if loop.step():
                break
    loop.report()


if __name__ == "__main__":
    main()
