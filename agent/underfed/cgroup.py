"""What the control groups of a process allow it: CPU quota, memory, and how long it was throttled. Versions 1 and 2.

Limits of all ancestors that can be seen count; the smallest holds. ``None``: no limit, or no control groups.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

UNLIMITED_BYTES = 1 << 60
"""Version 1 writes "no limit" as the largest multiple of the page size below 2^63."""


def quota_cores(pid: int | str = "self") -> float | None:
    """CPU bandwidth in cores."""
    quotas = [quota for directory in _directories(pid, "cpu") if (quota := _quota(directory)) is not None]
    return min(quotas, default=None)


def memory_limit_bytes(pid: int | str = "self") -> int | None:
    limits = [limit for directory in _directories(pid, "memory") if (limit := _memory_limit(directory)) is not None]
    return min(limits, default=None)


def throttled_us(pid: int | str = "self") -> int | None:
    """Microseconds that the process's own group was held back by its quota, since the group was made."""
    directory = next(_directories(pid, "cpu"), None)
    if directory is None:
        return None
    fields = dict(line.split(maxsplit=1) for line in (_read(directory / "cpu.stat") or "").splitlines())
    if "throttled_usec" in fields:
        return int(fields["throttled_usec"])
    return int(fields["throttled_time"]) // 1000 if "throttled_time" in fields else None


def allowed_cpus(pid: int = 0) -> int | None:
    """CPUs that the process's affinity allows; 0 asks for the calling one."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count()
    try:
        return len(os.sched_getaffinity(pid))
    except OSError:
        return None


def usable_cores(allowed: int | None, quota: float | None) -> float | None:
    """The smaller of affinity and quota."""
    known = [float(limit) for limit in (allowed, quota) if limit is not None]
    return min(known, default=None)


def _quota(directory: Path) -> float | None:
    if (both := _read(directory / "cpu.max")) is not None:
        quota, period = both.split()
    else:
        quota = _read(directory / "cpu.cfs_quota_us") or "-1"
        period = _read(directory / "cpu.cfs_period_us") or "0"
    return int(quota) / int(period) if quota not in ("max", "-1") and int(period) else None


def _memory_limit(directory: Path) -> int | None:
    text = _read(directory / "memory.max") or _read(directory / "memory.limit_in_bytes") or "max"
    limit = UNLIMITED_BYTES if text == "max" else int(text)
    return limit if limit < UNLIMITED_BYTES else None


def _directories(pid: int | str, controller: str) -> Iterator[Path]:
    """The process's group and its ancestors, nearest first, as far as this process can see them."""
    found = _group(pid, controller)
    if found is None:
        return
    mount, group = found
    yield group
    for parent in group.parents:
        if parent == mount.parent:
            return
        yield parent


def _group(pid: int | str, controller: str) -> tuple[Path, Path] | None:
    """``(mount point, the process's group below it)`` of the hierarchy that this controller belongs to."""
    memberships = [line.split(":", 2) for line in (_read(Path(f"/proc/{pid}/cgroup")) or "").splitlines()]
    unified = next((path for number, _names, path in memberships if number == "0"), None)
    own = next((path for _number, names, path in memberships if controller in names.split(",")), None)
    for mount, root, kind, options in _mounts():
        if kind == "cgroup" and own is not None and controller in options:
            return mount, _below(mount, root, own)
        if kind == "cgroup2" and own is None and unified is not None:
            return mount, _below(mount, root, unified)
    return None


def _below(mount: Path, root: str, path: str) -> Path:
    """A container may see only its own subtree: the mount's root is then a prefix of the process's path."""
    inner = path[len(root) :] if root != "/" and path.startswith(root) else path
    group = mount / inner.lstrip("/")
    return group if group.is_dir() else mount


def _mounts() -> Iterator[tuple[Path, str, str, list[str]]]:
    """``(mount point, root within the file system, type, super options)``; see proc_pid_mountinfo(5)."""
    for line in (_read(Path("/proc/self/mountinfo")) or "").splitlines():
        left, _, right = line.partition(" - ")
        before, after = left.split(), right.split()
        if after[0] in ("cgroup", "cgroup2"):
            yield Path(before[4]), before[3], after[0], after[2].split(",")


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
