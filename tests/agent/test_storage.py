"""Where data lies: seen from the files that processes have open or mapped, and from what a data set names."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from torch.utils.data import DataLoader

import underfed
from tests.agent.reading import Files
from tests.fakes.forkserver import start
from tests.fakes.jobs import environment
from tests.fakes.service import Service, Window, wait_until
from underfed.collector.sampling import storage
from underfed.collector.sampling.data_files import data_files, is_data, mapped_files
from underfed.collector.sampling.storage import FIRST_PAUSE_US, RankStorage
from underfed.collector.wire import Storage
from underfed.exchange import run_files
from underfed.exchange.facts import LoaderFacts, read_facts, write_facts
from underfed.host.mounts import holding, read_mounts


@pytest.fixture
def shared_memory(run_id: str) -> Iterator[Path]:
    """A directory on another file system than the tests' own."""
    directory = Path("/dev/shm") / f"data-{run_id}"
    directory.mkdir()
    yield directory
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()


def newest(service: Service) -> dict[tuple[str, str], Window]:
    """The newest of each loader and mount."""
    found = [each for window in list(service.windows) for each in window["storage"]]
    return {(each["loader"], each["mount"]): each for each in found}


def mount_of(path: Path) -> str:
    mount = holding(str(path.resolve()), read_mounts())
    assert mount is not None
    return mount.point


@pytest.mark.parametrize("num_workers", [0, 1])
def test_files_that_are_read_show_where_the_data_lies(
    num_workers: int, service: Service, eager_collector: None, tmp_path: Path, shared_memory: Path
) -> None:
    files = (tmp_path / "a.bin", shared_memory / "b.bin")
    for path in files:
        path.write_bytes(b"x" * 4096)
    job = start("tests.agent.reading", [str(num_workers), *map(str, files)], environment())
    both = {("train", mount_of(tmp_path)), ("train", "/dev/shm")}
    try:
        wait_until(lambda: both <= newest(service).keys(), "both are seen")
    finally:
        job.kill()
        job.communicate()
    in_memory = newest(service)["train", "/dev/shm"]
    assert {**in_memory, "files_seen": 1} == {
        "loader": "train",
        "mount": "/dev/shm",
        "file_system": "tmpfs",
        "kind": "memory",
        "files_seen": 1,
        "example": str(shared_memory / "b.bin"),
    }
    assert newest(service)["train", mount_of(tmp_path)]["file_system"] != "tmpfs"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/data/train/shard-0001.tar", True),
        ("/dev/shm/imagenet/a.jpg", True),
        ("/usr/src/datasets/coco128/images/1.jpg", True),
        ("/root/.cache/huggingface/datasets/a.arrow", True),
        ("/libraries/of/images/1.png", True),
        ("/dev/shm/torch_4711_1_0", False),
        ("/dev/shm/psm_12ab", False),
        ("/dev/shm/underfed-0/train-1/rank-0-1/loader-0.steps", False),
        ("/run/user/1000/underfed-1000/train-1/rank-0-1/loader-0.0.1.batches", False),
        ("/dev/nvidia0", False),
        ("/proc/7/stat", False),
        ("socket:[4711]", False),
        ("anon_inode:[eventpoll]", False),
        ("/memfd:x (deleted)", False),
        ("/tmp/x.bin (deleted)", False),
        ("/usr/lib/locale/locale-archive", False),
        ("/opt/conda/lib/python3.11/lib-dynload/zlib.so", False),
        ("/home/ada/venv/lib/python3.11/site-packages/torchvision/models.bin", False),
        ("/home/ada/train.py", False),
    ],
)
def test_code_devices_and_what_processes_share_are_no_data(path: str, expected: bool) -> None:
    assert is_data(path) is expected


HOLDING = """
import mmap, sys
data, log = open(sys.argv[1]), open(sys.argv[2], "w")
mapped, code = open(sys.argv[3]), open(sys.argv[4])
kinds = ((mapped, 0), (code, mmap.PROT_EXEC))
maps = [mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ | extra) for file, extra in kinds]
print(1, flush=True)
input()
"""


def test_what_is_only_written_or_executed_is_no_data(tmp_path: Path) -> None:
    data, log, mapped, code = (str(tmp_path / name) for name in ("data", "log", "mapped", "code"))
    for path in (data, log, mapped, code):
        Path(path).write_text("x" * 4096)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, data, log, mapped, code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    in_maps, everywhere = set(mapped_files(process.pid)), data_files(process.pid)
    process.communicate(b"\n")
    assert {path for path in in_maps if path.startswith(str(tmp_path))} == {mapped}
    assert {data, mapped} <= everywhere
    assert log not in everywhere


class Seen:
    """What ``data_files`` shall find, by pid."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.files: dict[int, set[str] | OSError] = {}
        self.asked: list[int] = []
        monkeypatch.setattr(storage, "data_files", self.find)
        own = read_mounts()
        monkeypatch.setattr(storage, "read_mounts", lambda *_: own)

    def find(self, pid: int) -> set[str]:
        self.asked.append(pid)
        files = self.files.get(pid, set())
        if isinstance(files, OSError):
            raise files
        return files


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    return Seen(monkeypatch)


def name(index: int) -> str:
    return f"loader-{index + 1}"


def test_workers_take_turns_and_are_looked_at_less_and_less_often(seen: Seen) -> None:
    found = RankStorage()
    looked_at = [us for us in range(0, 40_000_000, 250_000) if found.sample_costly(us, {0: [7, 8]}, {})]
    assert looked_at == [FIRST_PAUSE_US * n for n in (0, 1, 3, 7, 15, 31)]
    assert seen.asked == [7, 8, 7, 8, 7, 8]


def test_a_mount_is_reported_again_when_more_of_it_is_known(seen: Seen) -> None:
    found = RankStorage()
    seen.files = {7: {"/dev/shm/a", "/dev/shm/b"}}
    assert found.sample_costly(0, {0: [7]}, {})
    expected = Storage("loader-1", "/dev/shm", "tmpfs", None, "memory", 2, "/dev/shm/a")
    assert found.take(name) == [expected]
    assert found.take(name) == []
    found.sample_costly(1_000_000, {0: [7]}, {})
    assert found.take(name) == [], "nothing new"
    seen.files = {7: {"/dev/shm/c"}}
    found.sample_costly(9_000_000, {0: [7]}, {})
    (again,) = found.take(name)
    assert (again.files_seen, again.example) == (3, "/dev/shm/a")
    found.send_again()
    assert found.take(name) == [again]


def test_files_are_counted_up_to_a_bound(seen: Seen) -> None:
    found = RankStorage()
    seen.files = {7: {f"/dev/shm/{number}" for number in range(3 * storage.FILES)}}
    found.sample_costly(0, {0: [7]}, {})
    (counted,) = found.take(name)
    assert counted.files_seen == storage.FILES
    seen.files = {7: {"/elsewhere/x"}}
    found.sample_costly(9_000_000, {0: [7]}, {})
    assert [each.mount for each in found.take(name)] == [mount_of(Path("/elsewhere/x"))]


def test_what_a_data_set_names_is_followed_also_without_anyone_to_look_at(seen: Seen, tmp_path: Path) -> None:
    link = tmp_path / "data"
    link.symlink_to("/dev/shm")
    found = RankStorage()
    assert found.sample_costly(0, {0: []}, {0: [str(link)]})
    assert [(each.mount, each.example) for each in found.take(name)] == [("/dev/shm", "/dev/shm")]
    assert not found.sample_costly(9_000_000, {0: []}, {0: [str(link)]}), "known"
    assert found.sample_costly(9_000_000, {0: []}, {0: [str(tmp_path)]})
    assert seen.asked == []


def test_a_process_that_may_not_be_looked_into_is_a_reason_unless_more_is_known(seen: Seen) -> None:
    found = RankStorage()
    seen.files = {7: PermissionError(13, "Permission denied")}
    found.sample_costly(0, {0: [7]}, {})
    assert found.take(name) == []
    assert found.reason(0) == storage.HIDDEN
    assert found.reason(1) is None
    seen.files = {7: ProcessLookupError(3, "No such process")}
    found.sample_costly(2_000_000, {0: [7]}, {0: ["/dev/shm"]})
    assert found.reason(0) is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become somebody else")
def test_another_users_process_may_not_be_looked_into() -> None:
    program = (
        "import os; from underfed.collector.sampling.data_files import data_files\n"
        "os.setuid(65534); data_files(os.getppid())"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "PermissionError" in ran.stderr


def test_the_reason_travels_and_the_paths_do_not(service: Service, tmp_path: Path) -> None:
    loader = underfed.watch(DataLoader(Files(tmp_path, tmp_path), num_workers=1), name="train")
    (facts,) = (run_files.owner_directory(Path(os.environ["UNDERFED_RINGS"]))).glob("*/rank-*/loader-0.json")
    named = replace(read_facts(facts, LoaderFacts), paths=[str(tmp_path)])
    write_facts(facts, named)
    wait_until(lambda: newest(service), "where it lies is reported")
    assert loader.num_workers == 1
    assert [(each["mount"], each["example"]) for each in newest(service).values()] == [
        (mount_of(tmp_path), str(tmp_path.resolve()))
    ]
    assert all("paths" not in facts for window in service.windows for facts in window["loaders"])
