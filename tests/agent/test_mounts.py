"""Mounts, file systems and the kind of device below a path, as files that look like the kernel's."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from underfed.host import disks
from underfed.host.mounts import Location, Mount, holding, locate, read_mounts

MakeDisk = Callable[..., Path]


@pytest.fixture
def make_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeDisk:
    """Makes a block device in a /sys of our own: its number, and what its files say."""
    sys = tmp_path / "sys"
    monkeypatch.setattr(disks, "SYS", sys)

    def make(name: str, number: str, below: Path | None = None, **files: str) -> Path:
        directory = (below or sys / "devices/block") / name
        directory.mkdir(parents=True)
        for path, text in {"dev": number, **files}.items():
            place = directory / path.replace("__", "/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"{text}\n")
        for link in (sys / "dev/block" / number, sys / "class/block" / name):
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(directory)
        return directory

    return make


def stack(upper: Path, *lower: Path) -> None:
    (upper / "slaves").mkdir()
    for each in lower:
        (upper / "slaves" / each.name).symlink_to(each)


def mounted(
    file_system: str, number: str = "0:44", source: str = "none", point: str = "/data", options: str = "rw"
) -> list[Mount]:
    return [
        Mount("/", "/", "0:21", "overlay", "overlay", "rw"),
        Mount(point, "/", number, file_system, source, options),
    ]


def where(path: str, mounts: list[Mount]) -> Location:
    mount = holding(path, mounts)
    assert mount is not None
    return locate(mount, mounts)


def kind(mounts: list[Mount], path: str = "/data/a.bin") -> tuple[str | None, str]:
    found = where(path, mounts)
    return found.device, found.kind


@pytest.mark.parametrize(
    ("name", "files", "expected"),
    [
        ("nvme0n1", {"queue__rotational": "0", "device__model": "Samsung SSD 990 PRO"}, "nvme"),
        ("sda", {"queue__rotational": "0", "device__vendor": "ATA"}, "ssd"),
        ("sda", {"queue__rotational": "1", "device__vendor": "ATA", "device__model": "ST4000"}, "hdd"),
        ("nvme1n1", {"device__model": "Amazon Elastic Block Store"}, "network"),
        ("sdb", {"queue__rotational": "0", "device__vendor": "Google", "device__model": "PersistentDisk"}, "network"),
        ("vda", {"queue__rotational": "1"}, "unknown"),
        ("sda", {"queue__rotational": "1", "device__vendor": "Msft", "device__model": "Virtual Disk"}, "unknown"),
        ("sda", {}, "unknown"),
        ("rbd0", {"queue__rotational": "0"}, "network"),
        ("zram0", {"queue__rotational": "0"}, "memory"),
    ],
)
def test_a_disk_is_what_it_says_unless_it_cannot_know(
    make_disk: MakeDisk, name: str, files: dict[str, str], expected: str
) -> None:
    make_disk(name, "8:0", **files)
    assert kind(mounted("ext4", "8:0", f"/dev/{name}")) == (name, expected)


def test_a_partition_is_on_its_disk(make_disk: MakeDisk) -> None:
    disk = make_disk("nvme0n1", "259:0", queue__rotational="0")
    make_disk("nvme0n1p2", "259:2", below=disk, partition="2")
    assert kind(mounted("xfs", "259:2")) == ("nvme0n1", "nvme")


def test_a_volume_is_on_all_its_disks_and_as_slow_as_the_slowest(make_disk: MakeDisk) -> None:
    first = make_disk("nvme0n1", "259:0", queue__rotational="0")
    second = make_disk("sda", "8:0", queue__rotational="1")
    raid = make_disk("md0", "9:0")
    stack(raid, make_disk("nvme0n1p1", "259:1", below=first, partition="1"), second)
    volume = make_disk("dm-0", "252:0")
    stack(volume, raid)
    assert kind(mounted("ext4", "252:0", "/dev/mapper/data")) == ("nvme0n1+sda", "hdd")


def test_btrfs_has_no_number_of_a_device_but_names_one(make_disk: MakeDisk) -> None:
    make_disk("sdq", "65:0", queue__rotational="0")
    assert kind(mounted("btrfs", "0:35", "/dev/sdq")) == ("sdq", "ssd")


def test_an_image_lies_where_its_file_does(make_disk: MakeDisk, tmp_path: Path) -> None:
    image = tmp_path / "data.squashfs"
    image.touch()
    make_disk("sda", "8:0", queue__rotational="1")
    make_disk("loop3", "7:3", loop__backing_file=str(image))
    both = [*mounted("squashfs", "7:3", "/dev/loop3"), *mounted("ext4", "8:0", point=str(tmp_path))]
    assert kind(both) == ("sda", "hdd")
    assert kind(mounted("squashfs", "7:3", "/dev/loop3")) == ("loop3", "overlay")
    image.unlink()
    assert kind(both) == ("loop3", "unknown")


def test_an_overlay_lies_where_its_upper_directory_does_if_that_can_be_seen(
    make_disk: MakeDisk, tmp_path: Path
) -> None:
    make_disk("nvme0n1", "259:0")
    layers = mounted("overlay", options=f"rw,lowerdir=/l/A:/l/B,upperdir={tmp_path},workdir=/l/w", point="/merged")
    host = Mount(str(tmp_path), "/", "259:0", "ext4", "/dev/nvme0n1", "rw")
    assert kind([*layers, host], "/merged/x") == ("nvme0n1", "nvme")
    hidden = mounted("overlay", options="rw,upperdir=/no/such/place", point="/merged")
    assert kind([*hidden, host], "/merged/x") == (None, "overlay")
    assert kind(mounted("overlay", options=f"upperdir={tmp_path}", point="/"), "/merged/x") == (None, "overlay")


@pytest.mark.parametrize(
    ("file_system", "source", "expected"),
    [
        ("9p", "share", "network"),
        ("fuse.gcsfuse", "bucket", "network"),
        ("fuse.juicefs", "JuiceFS:team", "network"),
        ("fuse", "mountpoint-s3", "network"),
        ("fuse", "/usr/bin/s3fs", "network"),
        ("fuse.squashfuse", "squashfuse", "unknown"),
        ("fuse", "somebodys", "unknown"),
        ("tmpfs", "tmpfs", "memory"),
        ("zfs", "tank/data", "unknown"),
    ],
)
def test_a_file_system_without_a_device_has_a_kind_too(file_system: str, source: str, expected: str) -> None:
    assert kind(mounted(file_system, source=source)) == (None, expected)


@pytest.mark.parametrize(
    ("file_system", "source", "share"),
    [
        ("nfs4", "server:/export", "server:/export"),
        ("lustre", "10.0.0.1@tcp:/scratch", "10.0.0.1@tcp:/scratch"),
        ("cifs", "//filer/share", "//filer/share"),
        ("fuse.sshfs", "ada@filer:/data", "filer:/data"),
        ("davfs", "https://ada:secret@cloud.example/data", "https://cloud.example/data"),
        ("fuse.s3fs", "s3fs", None),
        ("virtiofs", "mount0", None),
    ],
)
def test_a_share_is_what_it_is_mounted_from_where_that_names_one(
    file_system: str, source: str, share: str | None
) -> None:
    assert kind(mounted(file_system, source=source)) == (share, "network")


def test_the_deepest_and_newest_mount_holds_a_path() -> None:
    nested = [
        *mounted("nfs", point="/data"),
        *mounted("ext4", point="/data/local")[1:],
        *mounted("tmpfs", point="/data/local")[1:],
    ]
    assert where("/data/local", nested) == Location("/data/local", "tmpfs", None, "memory")
    assert where("/data/localised", nested) == Location("/data", "nfs", None, "network")
    assert where("/database", nested) == Location("/", "overlay", None, "overlay")
    assert holding("/database", []) is None


def test_a_line_of_the_kernel_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    line = r"36 35 98:0 /sub/tree /mnt/my\040data rw,noatime master:1 shared:2 - fuse.s3fs s3\134x rw,user_id=0"
    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_text", lambda *_, **__: f"{line}\n")
        mounts = read_mounts()
    assert mounts == [Mount("/mnt/my data", "/sub/tree", "98:0", "fuse.s3fs", "s3\\x", "rw,user_id=0")]


def test_the_mounts_of_this_process_are_those_of_the_kernel() -> None:
    own = read_mounts()
    for path in ("/", "/dev/shm", "/proc"):
        found = where(path, own)
        assert os.path.ismount(found.mount)
        assert found.mount == path
    assert where("/dev/shm/x", own) == Location("/dev/shm", "tmpfs", None, "memory")
    assert holding(str(Path.cwd()), own) is not None


def test_a_process_that_is_gone_has_no_mounts() -> None:
    assert read_mounts(2**22) == []


def test_a_process_that_ended_and_was_not_waited_for_has_none_either() -> None:
    """The kernel refuses that as an invalid argument."""
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert read_mounts(process.pid) == []
