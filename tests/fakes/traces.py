"""What the agent must not leave behind: patches on torch, processes, directories in shared memory."""

from __future__ import annotations

import sys
from pathlib import Path


def patched_attributes() -> list[str]:
    """Attributes of torch's DataLoader machinery that are not torch's own functions."""
    if "torch.utils.data.dataloader" not in sys.modules:
        return []
    from torch.utils.data import dataloader
    from torch.utils.data._utils import worker

    owners = [each for each in vars(dataloader).values() if isinstance(each, type)] + [worker]
    return [
        f"{getattr(owner, '__name__', owner)}.{name}"
        for owner in owners
        for name, value in vars(owner).items()
        if type(value).__module__.startswith("underfed") or _is_ours(value)
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


def _is_ours(value: object) -> bool:
    code = getattr(value, "__code__", None)
    return code is not None and "/underfed/" in code.co_filename
