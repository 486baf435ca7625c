"""Eight workers read arrays from shared storage that gives all its readers together so many MB/s and no more."""

from __future__ import annotations

import fcntl
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, made_once, parser, worker_settings

BYTES_PER_S = 40_000_000


class SharedStorage:
    """Files behind one link: who reads has the link for as long as its bytes take."""

    def __init__(self, link: Path) -> None:
        self.link = link

    def read(self, file: Path) -> bytes:
        with self.link.open("a") as link:
            fcntl.flock(link, fcntl.LOCK_EX)
            content = file.read_bytes()
            time.sleep(len(content) / BYTES_PER_S)
        return content


class Spectra(Dataset[Tensor]):
    def __init__(self, folder: Path, *, storage: SharedStorage | None, dtype: str) -> None:
        self.files = sorted(folder.glob("*.bin"))
        self.storage = storage
        self.dtype = np.dtype(dtype)

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Tensor:
        file = self.files[index % len(self.files)]
        content = self.storage.read(file) if self.storage else file.read_bytes()
        return torch.from_numpy(np.frombuffer(content, dtype=self.dtype).astype(np.float32))


def make_spectra(folder: Path, dtype: str) -> None:
    random = np.random.default_rng(3)
    for number in range(500):
        (folder / f"{number:04}.bin").write_bytes(random.standard_normal(16_384).astype(dtype).tobytes())


def main() -> None:
    arguments = parser(__doc__, steps=400, batch_size=32, num_workers=8)
    arguments.add_argument("--stored", choices=["float32", "float16"], default="float32")
    arguments.add_argument("--local-copy", action="store_true", help="read from a copy on this host")
    args = arguments.parse_args()
    folder = made_once(args.data / args.stored, lambda folder: make_spectra(folder, args.stored))
    storage = None if args.local_copy else SharedStorage(args.data / "link")
    loader = DataLoader(
        Spectra(folder, storage=storage, dtype=args.stored),
        batch_size=args.batch_size,
        shuffle=True,
        **worker_settings(args),
    )
    loop = Loop(args.steps)
    for _ in loader:
        device_work(0.020)
        if loop.step():
            break
    loop.report()


if __name__ == "__main__":
    main()
