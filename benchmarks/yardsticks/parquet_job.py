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
    """A sample is a whole file, decoded."""

    def __init__(self, files: Sequence[Path], *, in_pool: bool) -> None:
        self.files = list(files)
        self.in_pool = in_pool

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Tensor:
        table = parquet.read_table(self.files[index], use_threads=self.in_pool)
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
        dataset = DecodedFiles(make_files(Path(folder)), in_pool=args.in_pool)
        loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True, **worker_settings(args))
        loop = Loop(args.steps)
        while not loop.done:
            for _ in loader:
                device_work(STEP_S)
                if loop.step():
                    break
        loop.report()


if __name__ == "__main__":
    main()
