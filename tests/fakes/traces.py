"""What the agent must not leave behind: patches on torch, processes, directories in shared memory."""

from __future__ import annotations

import sys
from pathlib import Path
from types import CodeType, ModuleType


def patched_attributes() -> list[str]:
    """Attributes and functions of torch's DataLoader that are ours, or have calls of ours in their code."""
    if "torch.utils.data.dataloader" not in sys.modules:
        return []
    from torch.utils.data import dataloader
    from torch.utils.data._utils import fetch, pin_memory, worker

    modules = (dataloader, fetch, pin_memory, worker)
    kinds = [each for module in modules for each in vars(module).values() if isinstance(each, type)]
    return [
        f"{getattr(owner, '__name__', owner)}.{name}"
        for owner in (*kinds, *modules)
        for name, value in vars(owner).items()
        if type(value).__module__.startswith("underfed") or _is_ours(getattr(value, "__code__", None))
    ]


def collectors_of(run_id: str) -> list[int]:
    """Processes that were started with a directory of this run, or of this test's runs."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(b"/" + run_id.encode() in word for word in words):
            found.append(int(process.name))
    return found


def _is_ours(code: object) -> bool:
    """Written by us, or with calls of ours in it."""
    if not isinstance(code, CodeType):
        return False
    return "/underfed/" in code.co_filename or any(
        _is_ours(constant) or type(constant).__module__.startswith("underfed") or _is_our_module(constant)
        for constant in code.co_consts
    )


def _is_our_module(constant: object) -> bool:
    return isinstance(constant, ModuleType) and constant.__name__.startswith("underfed")
