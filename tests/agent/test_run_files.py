"""Where rings are put: memory before disk, room left for the DataLoader, private or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from underfed.errors import RunDirectoryError
from underfed.exchange import run_files
from underfed.exchange.run_files import RingName, RingRoot, choose_root
from underfed.host.files import write_atomically

MIB = 1 << 20
DATA = Path("/data")


def shared(free_bytes: int | None) -> RingRoot:
    return RingRoot(Path("/dev/shm"), free_bytes, is_memory=True)


def runtime(free_bytes: int | None, is_memory: bool = True) -> RingRoot:
    return RingRoot(Path("/run/user/7"), free_bytes, is_memory)


@pytest.mark.parametrize(
    ("shared_memory", "runtime_directory", "root"),
    [
        (shared(128 * MIB), runtime(999 * MIB), "/dev/shm"),
        (shared(64 * MIB), runtime(8 * MIB), "/run/user/7"),
        (shared(64 * MIB), runtime(7 * MIB), "/dev/shm"),
        (shared(64 * MIB), runtime(999 * MIB, is_memory=False), "/dev/shm"),
        (shared(64 * MIB), None, "/dev/shm"),
        (shared(7 * MIB), None, "/data/run"),
        (shared(None), None, "/data/run"),
        (shared(None), runtime(None), "/data/run"),
        (shared(0), runtime(8 * MIB), "/run/user/7"),
    ],
)
def test_rings_lie_in_memory_where_there_is_room(
    shared_memory: RingRoot, runtime_directory: RingRoot | None, root: str
) -> None:
    assert choose_root(shared_memory, runtime_directory, DATA) == Path(root)


def test_a_place_that_is_not_there_has_no_room(tmp_path: Path) -> None:
    assert run_files.ring_root(tmp_path / "none").free_bytes is None


def test_a_root_is_in_memory_where_its_nearest_mount_is() -> None:
    assert [run_files.ring_root(Path(path)).is_memory for path in ("/dev/shm", "/proc/self")] == [True, False]


def test_a_run_directory_is_private(tmp_path: Path) -> None:
    directory = run_files.make_run_directory(tmp_path, "run-1")
    assert directory == tmp_path / f"underfed-{os.getuid()}" / "run-1"
    assert directory.stat().st_mode & 0o777 == 0o700
    assert directory.parent.stat().st_mode & 0o777 == 0o700
    assert run_files.make_run_directory(tmp_path, "run-1") == directory


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o710, 0o701])
def test_a_directory_that_others_may_enter_is_refused(mode: int, tmp_path: Path) -> None:
    run_files.owner_directory(tmp_path).mkdir()
    run_files.owner_directory(tmp_path).chmod(mode)
    with pytest.raises(RunDirectoryError, match="not a private directory"):
        run_files.make_run_directory(tmp_path, "run-1")


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    run_files.owner_directory(tmp_path).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunDirectoryError, match="not a private directory"):
        run_files.make_run_directory(tmp_path, "run-1")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
def test_someone_elses_directory_is_refused(tmp_path: Path) -> None:
    run_files.owner_directory(tmp_path).mkdir(mode=0o700)
    os.chown(run_files.owner_directory(tmp_path), 12345, 12345)
    with pytest.raises(RunDirectoryError, match="not a private directory"):
        run_files.make_run_directory(tmp_path, "run-1")


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunDirectoryError, match="file"):
        run_files.make_run_directory(tmp_path / "file", "run-1")


def test_a_rings_name_says_which_it_is(tmp_path: Path) -> None:
    steps = run_files.step_ring(tmp_path, 3)
    batches = Path(run_files.batch_ring(run_files.batch_rings(tmp_path, 3, 12), 1))
    assert run_files.ring_name(steps.name) == RingName(3)
    assert run_files.ring_name(batches.name) == RingName(3, 12, 1)
    assert run_files.ring_name("loader-3.json") is None
    assert run_files.ring_name("run.json") is None


def test_only_the_rings_of_one_iterator_are_removed(tmp_path: Path) -> None:
    for name in ("loader-0.1.0.batches", "loader-0.1.1.batches", "loader-0.11.0.batches", "loader-0.steps"):
        (tmp_path / name).touch()
    run_files.remove_batch_rings(tmp_path, 0, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["loader-0.11.0.batches", "loader-0.steps"]


def test_a_rank_counts_from_when_it_said_who_it_is(tmp_path: Path) -> None:
    known, silent = run_files.rank_directory(tmp_path, 0, 5), run_files.rank_directory(tmp_path, 1, 5)
    known.mkdir()
    silent.mkdir()
    write_atomically(known / run_files.RUN, "{}")
    assert list(run_files.rank_directories(tmp_path)) == [known]


def test_incarnations_grow_though_the_clock_is_set_back(tmp_path: Path) -> None:
    names = [
        run_files.make_rank_directory(tmp_path, "run-1", 0, now_ms).name for now_ms in (5_000, 6_000, 2_000, 6_000)
    ]
    assert names == ["rank-0-5000", "rank-0-6000", "rank-0-6001", "rank-0-6002"]
    # Of another run too: its directory may be gone, and come again.
    assert run_files.make_rank_directory(tmp_path, "run-2", 0, 1).name == "rank-0-6003"


@pytest.mark.parametrize("harm", ["", "soon", "\0"])
def test_a_last_incarnation_that_cannot_be_read_is_none(tmp_path: Path, harm: str) -> None:
    run_files.make_rank_directory(tmp_path, "run-1", 0, 5_000)
    (run_files.owner_directory(tmp_path) / "newest").write_text(harm)
    assert run_files.make_rank_directory(tmp_path, "run-1", 0, 6_000).name == "rank-0-6000"


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "facts.json").mkdir()
    with pytest.raises(OSError):
        write_atomically(tmp_path / "facts.json", "{}")
    assert [path.name for path in tmp_path.iterdir()] == ["facts.json"]
