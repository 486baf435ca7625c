"""What a block device is made of and what kind of disk that is, from Linux's /sys."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from underfed.host.files import read_text

SYS = Path("/sys")

SLOWEST_FIRST = ("network", "hdd", "unknown", "overlay", "ssd", "nvme", "memory")
"""A volume across several disks is as slow as the slowest of them, and an unknown one may be slow."""

STACKED = 8
"""Partition on encryption on a logical volume on a RAID: nobody stacks deeper."""

MEMORY_NAMES = ("ram", "zram", "pmem")
NETWORK_NAMES = ("nbd", "rbd", "drbd")
VIRTUAL_NAMES = ("vd", "xvd")
"""A virtual machine's disk: what it lies on is hidden, and virtio's driver calls every one rotational."""

VIRTUAL_VENDORS = ("QEMU", "VMware", "Msft", "VBOX", "Google", "Virtio")
"""The same for disks behind a hypervisor's SCSI."""

NETWORK_MODELS = ("Amazon Elastic Block Store", "nvme_card-pd", "PersistentDisk", "MSFT NVMe Accelerator")
"""Disks of a cloud that look local and lie behind its network (the clouds' own pages on how to tell them apart)."""


def disks_below(number: str) -> list[Path]:
    """Their directories in /sys, for a device's ``major:minor``. Empty where they cannot be seen."""
    device = SYS / "dev/block" / number
    return list(_leaves(device.resolve(), STACKED)) if device.exists() else []


def number_of(device_file: str) -> str | None:
    """``major:minor`` of ``/dev/…``, also where a container's /dev lacks the file."""
    try:
        found = Path(device_file).stat()
    except OSError:
        return read_text(SYS / "class/block" / Path(device_file).name / "dev")
    return f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"


def kind_of(disk: Path) -> str:
    """One of ``SLOWEST_FIRST``."""
    name = disk.name
    model, vendor = read_text(disk / "device/model") or "", read_text(disk / "device/vendor") or ""
    if name.startswith(MEMORY_NAMES):
        return "memory"
    if name.startswith(NETWORK_NAMES) or model.startswith(NETWORK_MODELS):
        return "network"
    if name.startswith("nvme"):
        return "nvme"
    is_rotational = read_text(disk / "queue/rotational")
    if is_rotational == "0":
        return "ssd"
    is_virtual = name.startswith(VIRTUAL_NAMES) or vendor.startswith(VIRTUAL_VENDORS)
    return "hdd" if is_rotational == "1" and not is_virtual else "unknown"


def backing_file(disk: Path) -> str | None:
    """Of a loop device: the image that it shows as a disk."""
    return read_text(disk / "loop/backing_file") or None


def slowest(kinds: Iterable[str]) -> str:
    return min(kinds, key=SLOWEST_FIRST.index, default="unknown")


def _leaves(device: Path, depth: int) -> Iterator[Path]:
    """A partition is part of its parent; devices of the device mapper, RAID and caches have slaves."""
    if (device / "partition").exists():
        device = device.parent
    slaves = sorted((device / "slaves").iterdir()) if (device / "slaves").is_dir() and depth else []
    if not slaves:
        yield device
    for slave in slaves:
        yield from _leaves(slave.resolve(), depth - 1)
