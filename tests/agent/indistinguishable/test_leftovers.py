"""After ``finish()``, and with ``UNDERFED_DISABLED=1``, torch is what it was, down to the code of each function."""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType
from typing import Any

import pytest
from torch.utils.data import DataLoader

import underfed
from tests.agent.indistinguishable.twice import Loader, Zeros

LOADERS: list[dict[str, Any]] = [{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}]


def census() -> dict[str, Any]:
    """Everything in torch's data modules, by identity, and the code of every function in them."""
    found: dict[str, Any] = {}
    for name, module in list(sys.modules.items()):
        if name == "torch.utils.data" or name.startswith("torch.utils.data."):
            take_stock(module, name, found)
    return found


def take_stock(owner: ModuleType | type, path: str, found: dict[str, Any]) -> None:
    for name, value in vars(owner).items():
        function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        found[f"{path}.{name}"] = id(value)
        if isinstance(function, FunctionType):
            parts = (function.__code__, function.__defaults__, function.__kwdefaults__, function.__closure__)
            found[f"{path}.{name}()"] = [*map(id, parts), sorted(vars(function)), function.__code__.co_code]
        if isinstance(value, type) and isinstance(owner, ModuleType) and value.__module__ == owner.__name__:
            take_stock(value, f"{path}.{name}", found)


def use(loader: Loader) -> None:
    for _ in range(2):
        list(loader)
    next(iter(loader))


def test_finish_leaves_torch_exactly_as_it_was() -> None:
    for settings in LOADERS:
        use(DataLoader(Zeros(), batch_size=4, **settings))
    before = census()
    for settings in LOADERS:
        use(underfed.watch(DataLoader(Zeros(), batch_size=4, **settings)))
    assert census() != before
    underfed.finish()
    assert census() == before


def test_disabled_touches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERFED_DISABLED", "1")
    before, attributes = census(), vars(iter(DataLoader(Zeros()))).keys()
    loader = underfed.watch(DataLoader(Zeros(), batch_size=4, num_workers=1))
    use(loader)
    assert vars(iter(underfed.watch(DataLoader(Zeros())))).keys() == attributes
    assert census() == before
