"""The loaders that are drawn from on every release, and what is kept of each: batches, errors, the random state."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from inspect import signature
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from tests.fakes.datasets import Failing, Numbers, Stream

Loader = DataLoader[Any]
Seen = list[Any]


def numbers(**settings: Any) -> Loader:
    generator = torch.Generator()
    generator.manual_seed(7)
    return DataLoader(Numbers(), batch_size=4, shuffle=True, generator=generator, **settings)


def halve(samples: list[Tensor]) -> Tensor:
    """A collate function of the user's own."""
    return torch.stack(samples) / 2


FORK: dict[str, Any] = {"num_workers": 2, "multiprocessing_context": "fork"}

LOADERS: dict[str, Callable[[], Loader]] = {
    "no workers": numbers,
    "fork": lambda: numbers(**FORK),
    "one worker": lambda: numbers(num_workers=1, multiprocessing_context="fork"),
    "spawn": lambda: numbers(num_workers=1, multiprocessing_context="spawn"),
    "persistent": lambda: numbers(persistent_workers=True, prefetch_factor=3, **FORK),
    "collate": lambda: numbers(collate_fn=halve, **FORK),
    "collate, no workers": lambda: numbers(collate_fn=halve),
    "stream": lambda: DataLoader(Stream(), batch_size=4, **FORK),
    "stream, no workers": lambda: DataLoader(Stream(), batch_size=4),
    "samples": lambda: DataLoader(Numbers(12), batch_size=None),
    "pinned": lambda: numbers(pin_memory=True, **FORK),
    "pinned, no workers": lambda: numbers(pin_memory=True),
    # By one worker: where two are at work it depends on who is first through which line of torch an error comes.
    "failing": lambda: DataLoader(Failing(), batch_size=4, num_workers=1),
    "failing, no workers": lambda: DataLoader(Failing(), batch_size=4),
}
if "in_order" in signature(DataLoader).parameters:  # from 2.6 on
    LOADERS["out of order"] = lambda: numbers(num_workers=1, in_order=False)


EPOCHS = {"one worker": 1, "spawn": 1}
"""Of the others two. A spawned worker is another interpreter that imports torch, which takes seconds."""


PRETENDED: list[tuple[Any, str, Any]] = [
    (torch.cuda, "is_available", lambda: True),
    (torch.cuda, "current_device", lambda: 0),
    (torch.cuda, "set_device", lambda _device: None),
    (torch.accelerator, "is_available", lambda: True),
    (torch.accelerator, "current_device_index", lambda: 0),
    (torch.accelerator, "set_device_index", lambda _device: None),
    (Tensor, "pin_memory", lambda tensor, *_device: tensor.clone()),
]
"""A device and its page-locked memory, as far as a DataLoader of any release asks for them."""


@contextmanager
def pretended_device() -> Iterator[None]:
    """Without one torch does not run the code that pins."""
    with ExitStack() as stack:
        for owner, name, pretended in PRETENDED:
            stack.enter_context(mock.patch.object(owner, name, pretended))
        yield


def leave(loader: Loader, name: str) -> Loader:
    """In the place of ``underfed.watch``."""
    return loader


def draw_all(names: list[str], watch: Callable[[Loader, str], Loader]) -> dict[str, Seen]:
    seen = {}
    for name in names:
        with pretended_device() if "pinned" in name else nullcontext():
            seen[name] = draw(watch(LOADERS[name](), name), EPOCHS.get(name, 2))
    return seen


def draw(loader: Loader, epochs: int) -> Seen:
    """Every batch, the whole text of every error, and the random state afterwards."""
    random.seed(1)
    torch.manual_seed(1)
    seen: Seen = []
    for _ in range(epochs):
        iterator = iter(loader)
        while True:
            try:
                seen.append(next(iterator).tolist())
            except StopIteration:
                break
            except ValueError:
                seen.append(traceback.format_exc())
    return [*seen, random.random(), float(torch.rand(()))]


def count_batches(seen: Seen) -> int:
    return sum(isinstance(each, list) for each in seen)
