"""What the agent must not leave behind: patches on torch, processes, directories in shared memory."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from types import CodeType, ModuleType

from tests.fakes.service import PATIENCE_S, wait_until


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


EXITING, KERNEL_THREAD = 0x4, 0x200000
"""Flags of a process, <linux/sched.h>."""


def collectors_of(run_id: str) -> list[int]:
    """Processes that were started with a directory of this run, or of this test's runs."""
    sought = b"/" + run_id.encode()
    return [pid for pid, words in _processes() if sought in words]


def _processes() -> Iterator[tuple[int, bytes]]:
    """Pid and command line."""
    # Each test asks: names alone, and no object for each process.
    for name in os.listdir("/proc"):  # noqa: PTH208
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb", buffering=0) as file:  # noqa: PTH123
                words = file.read()
        except OSError:
            continue
        yield int(name), words


def _is_ending(pid: int) -> bool:
    """Its memory is gone, and its command line with it; its locks may not be, and others wait for those."""
    try:
        # Each test asks, of each thread of the kernel's.
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return False
    state, flags, threads = fields[0], int(fields[6]), int(fields[17])
    return flags & (EXITING | KERNEL_THREAD) == EXITING and (state not in (b"Z", b"X") or threads > 1)


def only_collector(run_id: str) -> int:
    """The one that stays: where the first is slow to start, a rank starts another, which finds the run served."""
    wait_until(lambda: len(collectors_of(run_id)) == 1, "one collector stays", longest_pause_s=0.1)
    return collectors_of(run_id)[0]


def wait_for_collectors(run_id: str, timeout_s: float = PATIENCE_S) -> None:
    """Until none of this run is left, and no process of which it is not known any more whether it was one."""
    deadline = time.monotonic() + timeout_s
    sought = b"/" + run_id.encode()
    while pids := [pid for pid, words in _processes() if sought in words or (not words and _is_ending(pid))]:
        for pid in pids:
            with suppress(ProcessLookupError):
                process = os.pidfd_open(pid)
                has_ended = select.select([process], [], [], max(0.0, deadline - time.monotonic()))[0]
                os.close(process)
                assert has_ended, f"the collector of {run_id} still runs after {timeout_s:.0f} s"


def _is_ours(code: object) -> bool:
    """Written by us, or with calls of ours in it."""
    if not isinstance(code, CodeType) or _others.get(id(code)) is code:
        return False
    is_ours = "/underfed/" in code.co_filename or any(
        _is_ours(constant) or _is_of_us(constant) or _is_of_us(getattr(constant, "__self__", None))
        for constant in code.co_consts
    )
    if not is_ours:
        _others[id(code)] = code
    return is_ours


_others: dict[int, CodeType] = {}
"""Code without ours, by its address: after each test hundreds of them are looked at, and they cannot change. Of equal
code the constants may differ."""


def _is_of_us(constant: object) -> bool:
    name = constant.__name__ if isinstance(constant, ModuleType) else type(constant).__module__
    return name.startswith("underfed")
