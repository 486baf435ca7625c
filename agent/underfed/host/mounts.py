"""Where a path lies: its mount, the file system there, and the kind of device below it."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from underfed.host import disks
from underfed.host.signal_handlers import let_through

NETWORK = frozenset((
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "lustre", "ceph", "gpfs", "beegfs", "glusterfs", "afs", "orangefs",
    "pvfs2", "panfs", "wekafs", "gfs2", "ocfs2", "coda", "davfs", "9p", "virtiofs", "vboxsf", "vmhgfs", "prl_fs",
))  # fmt: skip
"""Types as the kernel names them. Folders that a hypervisor shares are as far away as a server."""

NETWORK_FUSE = frozenset((
    "s3fs", "gcsfuse", "goofys", "geesefs", "rclone", "mount-s3", "mountpoint-s3", "blobfuse", "blobfuse2",
    "sshfs", "juicefs", "glusterfs", "ceph", "ceph-fuse", "cvmfs2", "seaweedfs", "weed", "alluxio-fuse",
    "dfuse", "objectivefs", "fuse_dfs", "mfs", "moosefs", "lizardfs", "quobyte", "davfs", "vmhgfs-fuse",
))  # fmt: skip
"""Programs behind ``fuse.NAME``, or behind plain ``fuse`` with their name as its source."""

MEMORY = frozenset(("tmpfs", "ramfs", "devtmpfs", "hugetlbfs"))
OVERLAY = frozenset(("overlay", "aufs", "fuse.fuse-overlayfs"))

LISTED_DISKS = 4
NESTED = 4
"""Depth of images in images on overlays: anything deeper is a cycle."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A line of /proc/PID/mountinfo, see proc_pid_mountinfo(5)."""

    point: str
    root: str
    """The part of the file system that is mounted there."""
    number: str
    """``major:minor``; major 0 is no block device."""
    file_system: str
    source: str
    options: str
    """Options of the file system, not of this mount."""


@dataclass(frozen=True, slots=True)
class Location:
    """As the wire's Storage has it: of a network file system ``device`` is what it is mounted from. ``None``: there is
    none, or none to be seen."""

    mount: str
    file_system: str
    device: str | None
    kind: str


def read_mounts(pid: int | str = "self") -> list[Mount]:
    """What this process sees mounted, in that order. Empty where the system does not show it.

    Raises:
        PermissionError: the process may not be inspected.
    """
    try:
        lines = Path(f"/proc/{pid}/mountinfo").read_text(errors="surrogateescape").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return []
    except OSError as error:
        let_through(error)
        if error.errno != errno.EINVAL:
            raise
        return []  # the process has ended, and was not waited for yet
    return [_parse(line) for line in lines]


def locate(mount: Mount, mounts: Sequence[Mount]) -> Location:
    """What a mount lies on. ``mounts``: all of them, since an image or an overlay lies on another one."""
    device, kind = _below(mount, mounts, NESTED)
    return Location(mount.point, mount.file_system, device, kind)


def holding(path: str, mounts: Iterable[Mount]) -> Mount | None:
    """The mount that an absolute path without links lies on: the deepest, and of several on one point the newest.

    ``None``: nothing known is mounted above it.
    """
    found = None
    for mount in mounts:
        is_above = path == mount.point or path.startswith(mount.point.rstrip("/") + "/")
        if is_above and (found is None or len(mount.point) >= len(found.point)):
            found = mount
    return found


def is_remote(path: Path) -> bool:
    """Whether it lies behind a network, or on FUSE of any kind: a file mapped there can stall or kill a process, a lock
    can hang or hold nobody back. For a path that does not exist: where it would be created.

    Raises:
        OSError: it cannot be looked at.
    """
    place = path.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    return _is_remote_device(place.stat().st_dev, str(place.resolve()))


_remote_devices: dict[int, bool] = {}
"""By number of the file system: reading the mounts takes a hundred times as long as finding it here."""


def _is_remote_device(number: int, path: str) -> bool:
    if number not in _remote_devices:
        mount = holding(path, read_mounts())
        is_fuse = mount is not None and mount.file_system.partition(".")[0] == "fuse"
        _remote_devices[number] = mount is not None and (is_fuse or is_network(mount))
    return _remote_devices[number]


def _below(mount: Mount, mounts: Sequence[Mount], depth: int) -> tuple[str | None, str]:
    """``(device, kind)``."""
    kind = mount.file_system
    if is_network(mount):
        return _share(mount), "network"
    if kind in MEMORY:
        return None, "memory"
    if kind in OVERLAY:
        return _below_path(_option(mount, "upperdir"), mounts, depth) or (None, "overlay")
    number: str | None = mount.number
    if mount.number.startswith("0:"):  # btrfs and others that span disks: their source is the first device
        number = disks.number_of(mount.source.partition(":")[0]) if mount.source.startswith("/dev/") else None
    found = [_disk(disk, mounts, depth) for disk in (disks.disks_below(number) if number else [])]
    names = dict.fromkeys(name for name, _kind in found)
    return "+".join(list(names)[:LISTED_DISKS]) or None, disks.slowest(each for _name, each in found)


def is_network(mount: Mount) -> bool:
    if mount.file_system in NETWORK:
        return True
    program = mount.file_system.removeprefix("fuse.")
    if mount.file_system == "fuse":
        program = mount.source.partition(":")[0].rpartition("/")[2]
    return mount.file_system.startswith("fuse") and program.lower() in NETWORK_FUSE


def _share(mount: Mount) -> str | None:
    """What it is mounted from, as far as that names one share on every host; without a user's name or password."""
    source = mount.source
    if "://" in source:
        scheme, _, rest = source.partition("://")
        place, slash, path = rest.partition("/")
        return f"{scheme}://{place.rpartition('@')[2]}{slash}{path}"
    if mount.file_system == "fuse.sshfs":
        source = source.rpartition("@")[2]
    return source if source.startswith("//") or ":/" in source else None


def _disk(disk: Path, mounts: Sequence[Mount], depth: int) -> tuple[str, str]:
    """``(name, kind)``. An image lies where its file does."""
    below = _below_path(disks.backing_file(disk), mounts, depth)
    return (below[0] or disk.name, below[1]) if below is not None else (disk.name, disks.kind_of(disk))


def _below_path(path: str | None, mounts: Sequence[Mount], depth: int) -> tuple[str | None, str] | None:
    """A container does not see the paths that its runtime mounted."""
    if path is None or not depth or not Path(path).exists():
        return None
    mount = holding(path, mounts)
    return _below(mount, mounts, depth - 1) if mount is not None else None


def _option(mount: Mount, name: str) -> str | None:
    found = re.search(rf"(?:^|,){name}=([^,]*)", mount.options)
    return found[1] if found else None


def _parse(line: str) -> Mount:
    left, _, right = line.partition(" - ")
    _id, _parent, number, root, point, *_ = map(_unescape, left.split(" "))
    file_system, source, options, *_ = [*map(_unescape, right.split(" ")), ""]
    return Mount(point, root, number, file_system, source, options)


def _unescape(text: str) -> str:
    r"""Blanks in paths are written as ``\040``."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)
