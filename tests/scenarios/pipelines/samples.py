"""A data set in which loading a sample takes as long as a given function."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.data import Dataset


class Samples(Dataset[Tensor]):
    """``load(index)`` is called for each; it is pickled where workers are spawned."""

    def __init__(self, length: int, load: Callable[[int], object], *, floats: int = 64) -> None:
        self.length = length
        self.load = load
        self.floats = floats

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Tensor:
        self.load(index)
        return torch.full((self.floats,), float(index))
