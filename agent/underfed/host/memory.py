"""The host's memory and swap: Linux's /proc, psutil's figures elsewhere. And what its processes share."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass

from underfed.host.files import read_text
from underfed.host.procfs import PROC
from underfed.host.signal_handlers import passing

SHARED_MEMORY = "/dev/shm"


@dataclass(frozen=True, slots=True)
class Memory:
    """``None``: the system does not show it; some containers hide their swap."""

    total_bytes: int | None
    available_bytes: int | None
    """Without swapping."""
    swap_total_bytes: int | None
    swap_used_bytes: int | None


def read_memory() -> Memory:
    found = {name: int(kilobytes) << 10 for name, kilobytes in _lines()}
    if "MemTotal" not in found:
        return _by_psutil()
    swap, free = found.get("SwapTotal"), found.get("SwapFree")
    return Memory(
        found["MemTotal"],
        found.get("MemAvailable"),
        swap,
        swap - free if swap is not None and free is not None else None,
    )


def shared_memory() -> tuple[int, int] | tuple[None, None]:
    """``(total, free)`` bytes of /dev/shm."""
    with passing(OSError):
        usage = shutil.disk_usage(SHARED_MEMORY)
        return usage.total, usage.free
    return None, None


def _lines() -> list[tuple[str, str]]:
    return re.findall(r"^(\w+):\s*(\d+) kB$", read_text(PROC / "meminfo") or "", re.MULTILINE)


def _by_psutil() -> Memory:
    with passing(ImportError, OSError, RuntimeError):
        import psutil  # not at the top: every start of a launcher would pay for it

        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
        return Memory(memory.total, memory.available, swap.total, swap.used)
    return Memory(None, None, None, None)
