"""A warning blames the same file and line with the agent as without, whoever gives it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset

from tests.agent.indistinguishable.twice import Loader, Zeros, assert_same

LEVELS = range(1, 7)


class Warns(Dataset[Tensor]):
    """Blames a line so many frames up, at each sample."""

    def __init__(self, level: int) -> None:
        self.level = level

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Tensor:
        warnings.warn(f"sample {index} looks odd", RuntimeWarning, stacklevel=self.level)
        return torch.zeros(1)


class ShortStream(IterableDataset[Tensor]):
    """Longer than it says."""

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Iterator[Tensor]:
        return iter(torch.zeros(8, 1))


Warned = list[tuple[str, int, str, str]]


def warned(loader: Loader) -> Warned:
    """File, line, category and text of each warning, in order."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            len(loader)
            list(loader)
    return [(each.filename, each.lineno, each.category.__name__, str(each.message)) for each in caught]


@pytest.mark.parametrize("level", LEVELS)
def test_a_data_sets_own_warnings_blame_the_same_line(level: int) -> None:
    seen = assert_same(lambda: DataLoader(Warns(level), batch_size=2), warned)
    assert len(seen) == 8


class WarnsInWorker(Warns):
    """In a worker: gives the lines that its warnings blame."""

    def __getitem__(self, index: int) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            super().__getitem__(index)
        return [f"{each.filename}:{each.lineno}" for each in caught]


@pytest.mark.parametrize(("level", "blamed"), [(2, "test_warnings.py"), (3, "fetch.py"), (4, "worker.py")])
def test_warnings_in_a_worker_blame_the_same_line(level: int, blamed: str) -> None:
    """As far up as torch's worker loop. Above it is multiprocessing, with us in between, and nobody to blame."""
    seen = assert_same(lambda: DataLoader(WarnsInWorker(level), num_workers=1, batch_size=None), list)
    assert len(seen) == 4
    assert all(Path(line.rpartition(":")[0]).name == blamed for (line,) in seen)


TORCHS_OWN: dict[str, dict[str, Any]] = {
    "no accelerator": {"dataset": Zeros(), "pin_memory": True},
    "length of a stream": {"dataset": ShortStream()},
    "length of a stream, batched": {"dataset": ShortStream(), "batch_size": 2},
}


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize("settings", TORCHS_OWN.values(), ids=TORCHS_OWN.keys())
def test_torchs_own_warnings_blame_the_same_line(settings: dict[str, Any], num_workers: int) -> None:
    if "pin_memory" in settings and torch.accelerator.is_available():
        pytest.fail("this machine has an accelerator: torch has no reason to warn")
    seen = assert_same(lambda: DataLoader(num_workers=num_workers, **settings), warned)
    # Torch 2.6 without workers says nothing of pinning without an accelerator.
    assert seen or ("pin_memory" in settings and torch.__version__ < "2.7")
