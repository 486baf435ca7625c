"""Object detection: a batch is a list of pictures with hundreds of little tensors beside them, sent by workers."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, parser, worker_settings

OBJECTS = 40
Sample = tuple[Tensor, list[dict[str, Tensor]]]


class Annotated(Dataset[Sample]):
    def __init__(self, *, joined: bool) -> None:
        self.pictures = torch.randint(0, 256, (64, 3, 96, 96), dtype=torch.uint8)
        self.joined = joined

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Sample:
        picture = self.pictures[index % len(self.pictures)].clone()
        if self.joined:
            return picture, [{"box": torch.rand(OBJECTS, 4), "label": torch.full((OBJECTS,), index % 80)}]
        return picture, [{"box": torch.rand(4), "label": torch.tensor(index % 80)} for _ in range(OBJECTS)]


def as_list(samples: list[Sample]) -> list[Sample]:
    return samples


def main() -> None:
    arguments = parser(__doc__, steps=150, batch_size=8, num_workers=2)
    arguments.add_argument("--joined", action="store_true", help="one tensor for all boxes of a picture")
    args = arguments.parse_args()
    torch.set_num_threads(1)
    loader = DataLoader(
        Annotated(joined=args.joined), args.batch_size, shuffle=True, collate_fn=as_list, **worker_settings(args)
    )
    loop = Loop(args.steps)
    for _ in loader:
        device_work(0.010)
        if loop.step():
            break
    loop.report()


if __name__ == "__main__":
    main()
