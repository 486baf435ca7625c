"""Limits and use of a process's control groups: CPU quota, memory, throttling. Versions 1 and 2.

Limits of all ancestors that can be seen count; the smallest holds. ``None``: no limit, or no control groups.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from underfed.host.files import read_text
from underfed.host.mounts import read_mounts

UNLIMITED_BYTES = 1 << 60
"""Version 1 writes "no limit" as the largest multiple of the page size below 2^63."""


def quota_cores(pid: int | str = "self") -> float | None:
    """CPU bandwidth in cores."""
    quotas = [quota for directory in _directories(pid, "cpu") if (quota := _quota(directory)) is not None]
    return min(quotas, default=None)


def memory_limit_bytes(pid: int | str = "self") -> int | None:
    return min(_memory_limits(pid), default=(None, None))[0]


def cpu_group(pid: int | str = "self") -> Path | None:
    """The process's own group."""
    return next(_directories(pid, "cpu"), None)


def limiting_memory_group(pid: int | str = "self") -> Path | None:
    """The group whose limit is the smallest."""
    return min(_memory_limits(pid), default=(None, None))[1]


def throttled_us(group: Path | None) -> int | None:
    """Microseconds that a CPU group was throttled by its quota, since it was created."""
    fields = _fields(group, "cpu.stat")
    if "throttled_usec" in fields:
        return fields["throttled_usec"]
    return fields["throttled_time"] // 1000 if "throttled_time" in fields else None


def memory_used_bytes(group: Path | None) -> int | None:
    """What counts against a memory group's limit, without file cache that was not used lately.

    That is dropped before anything is killed: kubelet calls the rest the working set.
    """
    if group is None:
        return None
    text = read_text(group / "memory.current") or read_text(group / "memory.usage_in_bytes")
    if text is None:
        return None
    fields = _fields(group, "memory.stat")
    return max(0, int(text) - fields.get("total_inactive_file", fields.get("inactive_file", 0)))


def allowed_cpus(pid: int = 0) -> int | None:
    """CPUs that the process's affinity allows; 0 asks for the calling one."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count()
    with suppress(OSError):
        return len(os.sched_getaffinity(pid))
    return None


def usable_cores(allowed: int | None, quota: float | None) -> float | None:
    """The smaller of affinity and quota."""
    known = [float(limit) for limit in (allowed, quota) if limit is not None]
    return min(known, default=None)


def _quota(directory: Path) -> float | None:
    if (both := read_text(directory / "cpu.max")) is not None:
        quota, period = both.split()
    else:
        quota = read_text(directory / "cpu.cfs_quota_us") or "-1"
        period = read_text(directory / "cpu.cfs_period_us") or "0"
    return int(quota) / int(period) if quota not in ("max", "-1") and int(period) else None


def _memory_limit(directory: Path) -> int | None:
    text = read_text(directory / "memory.max") or read_text(directory / "memory.limit_in_bytes") or "max"
    limit = UNLIMITED_BYTES if text == "max" else int(text)
    return limit if limit < UNLIMITED_BYTES else None


def _memory_limits(pid: int | str) -> list[tuple[int, Path]]:
    found = ((_memory_limit(directory), directory) for directory in _directories(pid, "memory"))
    return [(limit, directory) for limit, directory in found if limit is not None]


def _fields(group: Path | None, name: str) -> dict[str, int]:
    """Lines of ``name number``."""
    pairs = (line.split() for line in ((read_text(group / name) if group is not None else None) or "").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


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
    memberships = [line.split(":", 2) for line in (read_text(Path(f"/proc/{pid}/cgroup")) or "").splitlines()]
    unified = next((path for number, _names, path in memberships if number == "0"), None)
    own = next((path for _number, names, path in memberships if controller in names.split(",")), None)
    for mount in read_mounts():
        point = Path(mount.point)
        if mount.file_system == "cgroup" and own is not None and controller in mount.options.split(","):
            return point, _below(point, mount.root, own)
        if mount.file_system == "cgroup2" and own is None and unified is not None:
            return point, _below(point, mount.root, unified)
    return None


def _below(mount: Path, root: str, path: str) -> Path:
    """A container may see only its own subtree: the mount's root is then a prefix of the process's path."""
    inner = path[len(root) :] if root != "/" and path.startswith(root) else path
    group = mount / inner.lstrip("/")
    return group if group.is_dir() else mount
