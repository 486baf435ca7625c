"""A network trained on all cores of the CPU; its samples are made beside it in the same process."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, parser, worker_settings


class NoisyDigits(Dataset[tuple[Tensor, int]]):
    """``rounds`` of noise: with none a sample is a slice of memory."""

    def __init__(self, rounds: int) -> None:
        self.images = torch.rand(512, 3, 32, 32)
        self.rounds = rounds

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = self.images[index % len(self.images)]
        for _ in range(self.rounds):
            image = (image + 0.02 * torch.randn_like(image)).clamp(0, 1)
        return image, index % 10


def main() -> None:
    arguments = parser(__doc__, steps=200, batch_size=32, num_workers=0)
    arguments.add_argument("--rounds", type=int, default=0)
    args = arguments.parse_args()
    loader = DataLoader(NoisyDigits(args.rounds), args.batch_size, shuffle=True, **worker_settings(args))
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(64, 64, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(1024, 10),
    )
    optimizer = torch.optim.AdamW(model.parameters())
    loss_of = nn.CrossEntropyLoss()
    loop = Loop(args.steps)
    for images, labels in loader:
        loss = loss_of(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loop.step():
            break
    loop.report()


if __name__ == "__main__":
    main()
