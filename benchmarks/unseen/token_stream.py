"""A language model's stream of documents that asks for its worker's number, and uses it for a seed only."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from benchmarks.unseen.job import Loop, device_work, made_once, parser, worker_settings

TOKENS = 256


class DocumentStream(IterableDataset[Tensor]):
    """Masked documents, each looked up in a store that answers after two milliseconds."""

    def __init__(self, file: Path, *, divide: bool) -> None:
        self.file = file
        self.divide = divide

    def __iter__(self) -> Iterator[Tensor]:
        worker = get_worker_info()
        chance = random.Random(worker.seed if worker else 0)
        with self.file.open() as documents:
            lines = iter(documents)
            if self.divide and worker is not None:
                lines = itertools.islice(documents, worker.id, None, worker.num_workers)
            for line in lines:
                time.sleep(0.002)
                tokens = [ord(letter) for letter in line[:TOKENS]]
                masked = [0 if chance.random() < 0.15 else token for token in tokens]
                yield torch.tensor(masked + [0] * (TOKENS - len(masked)))


def make_documents(folder: Path) -> None:
    chance = random.Random(4)
    words = ["loss", "batch", "gradient", "token", "layer", "weight", "sample", "epoch"]
    with (folder / "documents.txt").open("w") as documents:
        for _ in range(40_000):
            documents.write(" ".join(chance.choices(words, k=45)) + "\n")


def main() -> None:
    arguments = parser(__doc__, steps=500, batch_size=16, num_workers=1)
    arguments.add_argument("--divide", action="store_true", help="each worker reads its own share of the lines")
    args = arguments.parse_args()
    folder = made_once(args.data / "documents", make_documents)
    loader = DataLoader(
        DocumentStream(folder / "documents.txt", divide=args.divide), args.batch_size, **worker_settings(args)
    )
    loop = Loop(args.steps)
    for _ in loader:
        device_work(0.015)
        if loop.step():
            break
    loop.report()


if __name__ == "__main__":
    main()
