"""The user's own prefetcher, a thread and a queue, around a DataLoader without workers."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, parser, worker_settings


class Recordings(Dataset[Tensor]):
    def __init__(self, latency_s: float) -> None:
        self.latency_s = latency_s

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(self.latency_s)
        return torch.full((128,), float(index % 13))


class BackgroundLoader:
    """Hands out the loader's batches, loaded by a thread up to ``depth`` ahead."""

    def __init__(self, loader: DataLoader[Tensor], depth: int = 4) -> None:
        self.loader = loader
        self.batches: queue.Queue[Tensor] = queue.Queue(depth)
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._fill, daemon=True)

    def _fill(self) -> None:
        for batch in self.loader:
            while not self.stopped.is_set():
                try:
                    self.batches.put(batch, timeout=0.1)
                    break
                except queue.Full:
                    continue
            if self.stopped.is_set():
                return

    def __iter__(self) -> Iterator[Tensor]:
        self.thread.start()
        while True:
            yield self.batches.get()

    def stop(self) -> None:
        self.stopped.set()
        self.thread.join()


def main() -> None:
    arguments = parser(__doc__, steps=600, batch_size=16, num_workers=0)
    arguments.add_argument("--latency-ms", type=float, default=0.8)
    args = arguments.parse_args()
    loader = DataLoader(Recordings(args.latency_ms / 1_000), args.batch_size, shuffle=True, **worker_settings(args))
    batches = BackgroundLoader(loader)
    loop = Loop(args.steps)
    for _ in batches:
        device_work(0.020)
        if loop.step():
            break
    loop.report()
    batches.stop()


if __name__ == "__main__":
    main()
