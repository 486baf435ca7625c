"""On a network's file system nothing is mapped and nothing locked: rings and locks lie on this host."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.jobs import end, run_job, start_job
from tests.fakes.service import Service, wait_until
from tests.fakes.traces import wait_for_collectors
from tests.never_breaks.evidence import assert_all_arrived, assert_untouched, push
from underfed.errors import RunDirectoryError
from underfed.exchange import run_files
from underfed.host import mounts
from underfed.host.lock import LOCK, held, is_held, locked
from underfed.host.mounts import Mount, is_remote

REMOTE = [
    "nfs4",
    "nfs",
    "cifs",
    "smb3",
    "lustre",
    "ceph",
    "gpfs",
    "beegfs",
    "9p",
    "virtiofs",
    "fuse.sshfs",
    "fuse.s3fs",
]
REMOTE += ["fuse", "fuse.unheard-of"]
LOCAL = ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "squashfs", "fuseblk"]


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mounts, "_remote_devices", {})


def lie_on(file_system: str, place: Path, patch: pytest.MonkeyPatch) -> None:
    """As if this directory were a mount of that kind."""
    mount = Mount(str(place.resolve()), "/", "0:99", file_system, "server:/export", "")
    known = mounts.read_mounts()
    patch.setattr(mounts, "read_mounts", lambda: [*known, mount])


@pytest.mark.parametrize("file_system", [*REMOTE, *LOCAL])
def test_what_is_remote_is_known_by_its_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_system: str) -> None:
    lie_on(file_system, tmp_path, monkeypatch)
    assert is_remote(tmp_path / "not" / "there" / "yet") == (file_system in REMOTE)


def test_a_lock_there_lies_on_this_host_and_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lie_on("nfs4", tmp_path, monkeypatch)
    with locked(tmp_path):
        assert is_held(tmp_path)
        with held(tmp_path) as is_ours:
            assert not is_ours
        assert not is_held(tmp_path.parent)
    assert not is_held(tmp_path)
    assert list(tmp_path.iterdir()) == []
    shutil.rmtree(tmp_path)
    assert not is_held(tmp_path)


def test_rings_are_put_on_a_disk_of_this_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_files, "AMPLE_BYTES", 1 << 60)
    monkeypatch.setattr(run_files, "ENOUGH_BYTES", 1 << 60)
    data = tmp_path / "data"
    data.mkdir()
    assert run_files.find_roots({}, data) == [data / "run"]
    lie_on("lustre", data, monkeypatch)
    monkeypatch.setattr(mounts, "_remote_devices", {})
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/local")
    assert run_files.find_roots({}, data) == [Path("/local")]
    assert data / "run" not in run_files.all_roots({}, data)


def test_rings_that_are_configured_to_lie_there_are_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie_on("nfs4", tmp_path, monkeypatch)
    with pytest.raises(RunDirectoryError, match="network"):
        run_files.make_rank_directory(tmp_path, "run", 0, 1)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A real one, by FUSE."""
    if shutil.which("bindfs") is None:
        pytest.skip("bindfs is not installed here")
    behind, place = tmp_path / "behind", tmp_path / "mounted"
    behind.mkdir()
    place.mkdir()
    made = subprocess.run(["bindfs", behind, place], capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"nothing can be mounted here: {made.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def test_a_home_on_a_network_records_and_holds_no_lock_there(
    service: Service, mounted: Path, run_id: str, tmp_path: Path
) -> None:
    data = mounted / "data"
    job = start_job("--length", "4000", "--work-ms", "2", UNDERFED_DIR=str(data))
    wait_until(lambda: service.count_steps() > 10, "steps arrive")
    device = mounted.stat().st_dev
    number = f"{os.major(device):02x}:{os.minor(device):02x}:"
    assert [word for word in Path("/proc/locks").read_text().split() if word.startswith(number)] == []
    assert list(data.rglob(LOCK)) == []
    assert end(job).returncode == 0
    wait_until(service.ends, "the end arrives")
    wait_for_collectors(run_id)
    assert list(data.rglob("*.segment")) == []


def test_what_was_kept_there_is_pushed(absent: Service, mounted: Path, run_id: str) -> None:
    data = mounted / "data"
    assert_untouched(run_job(UNDERFED_DIR=str(data)))
    wait_for_collectors(run_id)
    assert len(list(data.rglob("*.segment"))) == 1
    theirs = data / "spool" / "other@elsewhere"
    theirs.mkdir()
    (theirs / "00000001.segment").write_bytes(b"")
    absent.start()
    done = push(UNDERFED_DIR=str(data))
    assert done.returncode == 0
    assert "elsewhere wrote it" in done.stdout
    assert platform.node() not in done.stdout
    assert_all_arrived(absent)
    assert list((data / "spool").iterdir()) == [theirs]


@pytest.fixture
def absent(service: Service, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setenv("UNDERFED_LINGER_S", "0.2")
    service.stop()
    return service
