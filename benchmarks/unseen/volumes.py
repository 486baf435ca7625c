"""Batches of 200 MB: computed tomographies that workers turn into floats and send through shared memory."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, made_once, parser, worker_settings

SIDE = 232


class Tomographies(Dataset[Tensor]):
    def __init__(self, stored: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], *, as_stored: bool) -> None:
        self.stored = stored
        self.as_stored = as_stored

    def __len__(self) -> int:
        return 10_000

    def __getitem__(self, index: int) -> Tensor:
        volume = torch.from_numpy(self.stored[index % len(self.stored)])
        return volume.clone() if self.as_stored else volume.float()


def main() -> None:
    arguments = parser(__doc__, steps=120, batch_size=4, num_workers=2)
    arguments.add_argument("--as-stored", action="store_true", help="send bytes; the device turns them into floats")
    args = arguments.parse_args()
    torch.set_num_threads(1)

    folder = made_once(
        args.data / "volumes",
        lambda folder: np.save(
            folder / "volumes.npy", np.random.default_rng(7).integers(0, 256, (8, SIDE, SIDE, SIDE), dtype=np.uint8)
        ),
    )
    stored = np.load(folder / "volumes.npy")
    loader = DataLoader(
        Tomographies(stored, as_stored=args.as_stored), args.batch_size, shuffle=True, **worker_settings(args)
    )
    loop = Loop(args.steps)
    for _ in loader:
        device_work(0.060)
        if loop.step():
            break
    loop.report()


if __name__ == "__main__":
    main()
