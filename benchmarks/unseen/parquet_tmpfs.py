"""Row groups of a wide Parquet table, which lies in memory already: what takes time is to decode all its columns."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow
import torch
from pyarrow import parquet
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from benchmarks.unseen.job import Loop, device_work, parser, worker_settings

COLUMNS, USED, ROWS_PER_GROUP, GROUPS = 96, 6, 16_384, 12


class RowGroups(IterableDataset[Tensor]):
    """Each worker reads every so-manieth row group, for ever; a batch is a quarter of one."""

    def __init__(self, file: Path, columns: list[str] | None) -> None:
        self.file = file
        self.columns = columns

    def __iter__(self) -> Iterator[Tensor]:
        worker = get_worker_info()
        first, stride = (worker.id, worker.num_workers) if worker else (0, 1)
        table = parquet.ParquetFile(self.file)
        while True:
            for number in range(first, GROUPS, stride):
                group = table.read_row_group(number, columns=self.columns, use_threads=False)
                names = self.columns or group.column_names
                rows = np.stack([group.column(name).to_numpy() for name in names[:USED]], axis=1)
                yield from torch.from_numpy(rows.astype(np.float32)).chunk(4)


def make_table(file: Path) -> None:
    chance = np.random.default_rng(10)
    count = ROWS_PER_GROUP * GROUPS
    columns = {f"c{number:02}": chance.integers(0, 5_000, count) / 100 for number in range(COLUMNS)}
    table = pyarrow.table(columns)
    parquet.write_table(table, file, row_group_size=ROWS_PER_GROUP, compression="zstd", use_dictionary=False)


def main() -> None:
    arguments = parser(__doc__, steps=700, batch_size=ROWS_PER_GROUP // 4, num_workers=2)
    arguments.add_argument("--used-columns", action="store_true", help="decode the columns that are used, no others")
    args = arguments.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        file = Path(folder) / "table.parquet"
        make_table(file)
        columns = [f"c{number:02}" for number in range(USED)] if args.used_columns else None
        loader = DataLoader(RowGroups(file, columns), batch_size=None, **worker_settings(args))
        loop = Loop(args.steps)
        for _ in loader:
            device_work(0.005)
            if loop.step():
                break
        loop.report()


if __name__ == "__main__":
    main()
