"""Does everything twice, without the agent and with it, and keeps what a program could see, in a form that can be
compared."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

import underfed

Loader = DataLoader[Any]
Make = Callable[[], Loader]


def watched(make: Make) -> Loader:
    """Constructed at the same line as a bare one, so that this does not distinguish them."""
    loader = make()
    underfed.watch(loader)
    return loader


def assert_same(make: Make, see: Callable[[Loader], Any], repetitions: int = 2) -> Any:
    """``see`` gets a bare loader, then watched ones: a first and a second, for what the agent does but once.

    All from one line, which a warning may blame.
    """
    makes: list[Make] = [make, *[partial(watched, make)] * repetitions]
    bare, *others = [see(each()) for each in makes]
    for seen in others:
        assert seen == bare
    return bare


class Zeros(Dataset[Tensor]):
    """Nothing happens in it."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Tensor:
        return torch.zeros(1)


def text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def attempt(act: Callable[[], Any]) -> Any:
    """What it gives, or which error in short."""
    try:
        return act()
    except Exception as error:
        return text(error)


def report(act: Callable[[], Any]) -> str:
    """What it gives, or the traceback as Python prints it, without numbers of processes and addresses."""
    try:
        result = act()
    except BaseException:
        return re.sub(r"0x[0-9a-f]+", "0x", re.sub(r"(pid\(?s?\)?:?) [\d, ]+", r"\1 ", traceback.format_exc()))
    return f"no error: {result}"
