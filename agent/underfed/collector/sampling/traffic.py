"""Bytes that the host's disks and networks moved since they were started, for all processes.

Disks are the machine's, also inside a container. Networks are those of the collector's own network namespace: in a
container with one of its own, the container's. What bypasses the kernel's network (RDMA) is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from underfed.collector.sampling.samples import Row

psutil: Any = None
with suppress(ImportError):  # where an agent that is copied into containers brings it for another C library
    psutil = import_module("psutil")

SYS = Path("/sys")
NO_PSUTIL = "psutil cannot be loaded here: its binary does not fit this Python or this system"
NO_DISKS = "no disk of this host can be seen from here"
NO_NETWORKS = "no network of this host can be seen from here"


class Traffic:
    """Of the disks and networks that were there when it was constructed."""

    def __init__(self) -> None:
        self._disks = _disks(_disk_counters())
        self._networks = _networks(_network_counters())

    @property
    def missing(self) -> dict[str, str]:
        """Why there is nothing to sample."""
        if psutil is None:
            return dict.fromkeys(("disks", "networks"), NO_PSUTIL)
        reasons = {"disks": None if self._disks else NO_DISKS, "networks": None if self._networks else NO_NETWORKS}
        return {name: reason for name, reason in reasons.items() if reason is not None}

    def sample(self) -> Row:
        disks = [each for name, each in _disk_counters().items() if name in self._disks]
        networks = [each for name, each in _network_counters().items() if name in self._networks]
        return {
            "disk_read_bytes": _total(disks, "read_bytes"),
            "disk_written_bytes": _total(disks, "write_bytes"),
            "network_received_bytes": _total(networks, "bytes_recv"),
            "network_sent_bytes": _total(networks, "bytes_sent"),
        }


def _disks(names: Iterable[str]) -> frozenset[str]:
    """Whole physical disks: a volume, a RAID or a partition would count the bytes of the disks below it again."""
    if not (SYS / "block").is_dir():
        return frozenset(names)
    return frozenset(name for name in names if (SYS / "block" / name / "device").exists())


def _networks(names: Iterable[str]) -> frozenset[str]:
    """Physical ones: a bridge, bond or tunnel would count bytes again. A container has none; then all but loopback."""
    outside = [name for name in names if name != "lo" and not name.startswith("lo0")]
    real = [name for name in outside if (SYS / "class/net" / name / "device").exists()]
    return frozenset(real or outside)


def _disk_counters() -> Mapping[str, Any]:
    return _known(lambda: psutil.disk_io_counters(perdisk=True, nowrap=False))


def _network_counters() -> Mapping[str, Any]:
    return _known(lambda: psutil.net_io_counters(pernic=True, nowrap=False))


def _known(counters: Callable[[], Mapping[str, Any] | None]) -> Mapping[str, Any]:
    try:
        return (counters() or {}) if psutil is not None else {}
    except (OSError, RuntimeError, ValueError):
        return {}  # some containers hide them; psutil raises NotImplementedError, a RuntimeError, where it finds none


def _total(counters: list[Any], quantity: str) -> int | None:
    """The sum without devices that are gone: it then falls, as after a restart."""
    return sum(getattr(each, quantity) for each in counters) if counters else None
