"""Parquet files that lie in memory (``/dev/shm``): what takes time is to decode them, and no storage is waited for.

After a workload of MLPerf Storage, whose samples are rows of Parquet files: that benchmark of storage was once as slow
on a tmpfs, because of the decoding.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow
import torch
from pyarrow import parquet
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, parser, worker_settings

FILES, ROWS, COLUMNS = 24, 20_000, 24
WORTH = 20_000
"""Distinct values of a column: few enough for the compression to have something to do."""
STEP_S = 0.005


class DecodedFiles(Dataset[Tensor]):
    """A sample is a whole file, decoded; each file is many samples, so that one epoch is long."""

    def __init__(self, files: Sequence[Path], samples: int, *, in_pool: bool) -> None:
        self.files = list(files)
        self.samples = samples
        self.in_pool = in_pool

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> Tensor:
        file = self.files[index % len(self.files)]
        # ``read_table`` decodes in threads of Arrow's even where it is asked not to use its pool.
        table = parquet.read_table(file) if self.in_pool else parquet.ParquetFile(file).read(use_threads=False)
        return torch.from_numpy(np.stack([column.to_numpy() for column in table.columns]))


def make_files(folder: Path) -> list[Path]:
    chance = np.random.default_rng(1)
    files = [folder / f"part-{number:03}.parquet" for number in range(FILES)]
    for file in files:
        columns = {f"c{number:02}": chance.integers(0, WORTH, ROWS).astype(np.float32) for number in range(COLUMNS)}
        parquet.write_table(pyarrow.table(columns), file, compression="zstd", use_dictionary=False)
    return files


def main() -> None:
    arguments = parser(__doc__, steps=300, batch_size=4, num_workers=2)
    arguments.add_argument("--in-pool", action="store_true", help="decode in Arrow's own threads")
    args = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        dataset = DecodedFiles(make_files(Path(folder)), args.steps * args.batch_size, in_pool=args.in_pool)
        loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True, **worker_settings(args))
        loop = Loop(args.steps)
        for _ in loader:
            device_work(STEP_S)
            loop.step()
        loop.report()


if __name__ == "__main__":
    main()
