"""What this host offers a DataLoader of a process like this one, where paths lie, and what may slow loading."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from underfed.collector.sampling.gpu import open_gpus
from underfed.collector.sampling.host_sampler import host_facts, open_files_limit
from underfed.collector.wire import Device, HostFacts
from underfed.exchange import config
from underfed.host import cgroup, procfs
from underfed.host.calibration import calibrate_once
from underfed.host.memory import read_memory
from underfed.host.mounts import holding, locate, read_mounts

GIB = 1 << 30

SMALL_SHM_BYTES = GIB
"""Two batches ahead of 64 pictures of 224×224 for each of 8 workers are 0.6 GB. Docker gives 64 MB unless asked."""

MUCH_SWAP_BYTES = GIB // 4
"""A little swap in use holds pages that nobody uses any more."""

FEW_FILES = 1024
"""What most systems allow. Torch keeps a file open for each tensor of a worker's that is still in use."""

FULL_FRACTION = 0.9
PRESSED = {"cpu": 0.10, "io": 0.10, "memory": 0.01}
"""Share of the last minute in which some task waited. CPUs and disks may be busy without harm; waiting for memory is
thrashing."""

WAITED_FOR = {"cpu": "a CPU", "io": "storage", "memory": "memory"}


@dataclass(frozen=True, slots=True)
class PathFacts:
    path: str
    """Without links."""
    exists: bool
    mount: str | None = None
    file_system: str | None = None
    source: str | None = None
    device: str | None = None
    kind: str | None = None
    total_bytes: int | None = None
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Checkup:
    """``None``: this system does not show it."""

    host: HostFacts
    throttled_us: int | None
    memory_used_bytes: int | None
    """Memory that counts against the limit."""
    swap_used_bytes: int | None
    open_files_hard_limit: int | None
    pressure_fractions: dict[str, float]
    """Share of the last minute in which some task waited for ``cpu``, ``io``, ``memory``."""
    gpus: list[Device]
    gpu_driver: str | None
    paths: list[PathFacts]
    not_measured: dict[str, str]
    warnings: list[str] = field(default_factory=list)


def examine(paths: Sequence[str]) -> Checkup:
    """Examine the host as this process may use it, and these paths."""
    data_directory = config.data_directory(os.environ)
    calibrate_once(data_directory)
    gpus = open_gpus(os.environ.get("CUDA_VISIBLE_DEVICES"), os.environ.get("CUDA_DEVICE_ORDER"))
    found = Checkup(
        host=host_facts(os.getpid(), data_directory),
        throttled_us=cgroup.throttled_us(cgroup.cpu_group()),
        memory_used_bytes=cgroup.memory_used_bytes(cgroup.limiting_memory_group()),
        swap_used_bytes=read_memory().swap_used_bytes,
        open_files_hard_limit=open_files_limit(is_hard=True),
        pressure_fractions={name: share for name in PRESSED if (share := pressure_fraction(name)) is not None},
        gpus=gpus.devices,
        gpu_driver=gpus.driver,
        paths=[path_facts(path) for path in paths],
        not_measured={"gpus": gpus.missing} if gpus.missing else {},
    )
    found.warnings.extend(warnings_of(found))
    return found


def path_facts(path: str) -> PathFacts:
    real = Path(path).resolve()
    mounts = read_mounts()
    mount = holding(str(real), mounts)
    if not real.exists() or mount is None:
        return PathFacts(str(real), real.exists())
    location, disk = locate(mount, mounts), shutil.disk_usage(real)
    return PathFacts(
        path=str(real),
        exists=True,
        source=mount.source,
        **asdict(location),
        total_bytes=disk.total,
        free_bytes=disk.free,
    )


def pressure_fraction(resource: str, directory: Path = procfs.PROC / "pressure") -> float | None:
    percent = procfs.pressure(resource, "avg60", directory)
    return round(percent / 100, 4) if percent is not None else None


def warnings_of(found: Checkup) -> Iterator[str]:
    """A sentence for each thing that slows a DataLoader or breaks it."""
    host = found.host
    if host.usable_cores is not None and host.usable_cores < 2:
        yield f"Usable cores: {host.usable_cores:g}. Workers compete with the training for them and gain little."
    if host.quota_cores is not None and host.quota_cores < (host.allowed_cpus or 0):
        yield (
            f"The quota is {host.quota_cores:g} cores, though {host.allowed_cpus} CPUs can be seen: programs that "
            "count CPUs start too many workers and threads, and all of them are throttled."
        )
    if host.shm_total_bytes is not None and host.shm_total_bytes < SMALL_SHM_BYTES:
        yield (
            f"/dev/shm holds {human(host.shm_total_bytes)}, and every batch goes through it: where that is too little, "
            "workers die of a bus error. Docker: --shm-size=8g; Kubernetes: an emptyDir with medium: Memory."
        )
    if (host.open_files_limit or FEW_FILES + 1) <= FEW_FILES:
        yield (
            f"{host.open_files_limit:,} files may be open: torch keeps one for each tensor that a worker hands over. "
            "Where training ends with `Too many open files`, raise the limit: ulimit -n 65536."
        )
    if (found.swap_used_bytes or 0) >= MUCH_SWAP_BYTES:
        yield f"{human(found.swap_used_bytes)} are swapped out: reading them back takes long."
    yield from _memory_warnings(found)
    for name, share in found.pressure_fractions.items():
        if share >= PRESSED[name]:
            yield f"For {share:.0%} of the last minute some task on this host waited for {WAITED_FOR[name]}."
    for path in found.paths:
        yield from _path_warnings(path)


def _memory_warnings(found: Checkup) -> Iterator[str]:
    limit, used = found.host.memory_limit_bytes, found.memory_used_bytes
    total, available = found.host.memory_total_bytes, found.host.memory_available_bytes
    if limit and used is not None and used > FULL_FRACTION * limit:
        yield f"{human(used)} of the memory limit of {human(limit)} are in use: the next worker may be killed."
    elif total and available is not None and available < (1 - FULL_FRACTION) * total:
        yield f"Only {human(available)} of {human(total)} memory are available: little room to cache files."


def _path_warnings(path: PathFacts) -> Iterator[str]:
    if path.kind == "network":
        yield (
            f"{path.path} lies behind the network: every small file costs a round trip or more. More workers hide "
            "that; a few large files, or a copy on a local disk, avoid it."
        )
    elif path.kind == "hdd":
        yield (
            f"{path.path} lies on a rotating disk: about a hundred small files a second, whatever the number of "
            "workers. A few large files that are read from front to back are far faster."
        )


def human(size: int | None) -> str:
    """``67108864`` → ``64 MiB``; three digits at most."""
    if size is None:
        return "–"
    number, units = float(size), iter(("bytes", "KiB", "MiB", "GiB", "TiB"))
    unit = next(units)
    for larger in units:
        if number < 1000:
            break
        number, unit = number / 1024, larger
    return f"{number:.0f} {unit}" if number >= 10 or unit == "bytes" else f"{number:.1f} {unit}"
