"""What dead jobs left behind is swept at the next start, and nothing of anyone who lives."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.jobs import run_job, start_job
from tests.fakes.service import Service, wait_until
from tests.fakes.traces import only_collector, wait_for_collectors
from tests.never_breaks.evidence import push
from underfed.collector.__main__ import main
from underfed.collector.leftovers import collect, own_runs, sweep
from underfed.collector.spool.all_spools import AllSpools
from underfed.collector.spool.spool_directory import segments_in, spool_directory
from underfed.errors import SpoolLockedError
from underfed.exchange import launch, run_files
from underfed.exchange.config import SpoolLimits, script_path
from underfed.exchange.facts import Origin, RunFacts, write_facts
from underfed.exchange.ring import RingWriter
from underfed.exchange.run_files import make_rank_directory
from underfed.host import procfs
from underfed.host.clock import now_ns, wall_clock
from underfed.host.lock import is_held, locked
from underfed.launcher.run import LAUNCHES, remove_leftovers

DAY_S = 86_400.0


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives."""
    process = subprocess.Popen(["sleep", "1000"])
    yield process
    process.kill()
    process.wait()


def origin_of(pid: int, data: Path, **changes: Any) -> Origin:
    origin = Origin("left", 0, 1, pid, procfs.start_ticks(pid), procfs.boot_id(), procfs.pid_namespace(), os.uname()[1],
                    wall_clock(), now_ns(), "http://127.0.0.1:9", str(data), None, None)  # fmt: skip
    return replace(origin, **changes)


def leave_rings(root: Path, origin: Origin) -> Path:
    """A rank's directory, as a process that was killed leaves it."""
    directory = make_rank_directory(root, "left", 0, origin.incarnation)
    facts = RunFacts("p", "n", "p/n", None, "host", [], script_path(), origin.pid, 0, 0, None, 1, "0", "3", None,
                     "watch", {}, {})  # fmt: skip
    write_facts(directory / run_files.RUN, origin, facts)
    RingWriter(run_files.step_ring(directory, 0), 8)
    return directory


def age(directory: Path, seconds: float) -> None:
    for path in [*directory.rglob("*"), directory]:
        os.utime(path, (time.time() - seconds,) * 2)


def swept(rings: Path, data: Path, served: Path | None = None) -> list[str]:
    """What is left in the user's directory of rings."""
    sweep({"UNDERFED_RINGS": str(rings)}, data, AllSpools(data, SpoolLimits()), DAY_S, served)
    own = run_files.owner_directory(rings)
    return sorted(path.name for path in own.iterdir() if path.name != run_files.NEWEST)


def dead_pid() -> tuple[int, int]:
    process = subprocess.Popen(["sleep", "1000"])
    ticks = procfs.start_ticks(process.pid)
    process.kill()
    process.wait()
    assert ticks is not None
    return process.pid, ticks


def test_rings_of_a_dead_job_are_read_into_its_spool(tmp_path: Path) -> None:
    pid, ticks = dead_pid()
    leave_rings(tmp_path, origin_of(pid, tmp_path / "data", start_ticks=ticks))
    assert swept(tmp_path, tmp_path / "data") == []
    spool = spool_directory(tmp_path / "data", "left", os.uname()[1])
    assert len(segments_in(spool)) == 1


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Files that another process creates as soon as the first one beside them was removed, as far as it finds the
    directory: it is listed by then, and not empty when it is to go."""
    files: list[Path] = []
    unlink = os.unlink

    def unlink_and_create(path: Any, *, dir_fd: int | None = None) -> None:
        unlink(path, dir_fd=dir_fd)
        if dir_fd is not None:
            for file in files:
                with suppress(FileNotFoundError):
                    file.touch()

    monkeypatch.setattr(os, "unlink", unlink_and_create)
    return files


def test_what_a_launcher_writes_while_a_rank_is_removed_does_not_stay(tmp_path: Path, late: list[Path]) -> None:
    pid, ticks = dead_pid()
    directory = leave_rings(tmp_path, origin_of(pid, tmp_path / "data", start_ticks=ticks))
    late.append(directory / run_files.STATUS)
    assert swept(tmp_path, tmp_path / "data") == []


def test_what_a_command_reports_while_its_launch_is_removed_does_not_stay(tmp_path: Path, late: list[Path]) -> None:
    directory = tmp_path / f"{LAUNCHES}1-2"
    directory.mkdir()
    launch.report({launch.LAUNCH: str(directory)}, launch.TORCH)
    late.append(directory / launch.RECORDING)
    remove_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_collector_that_comes_when_another_has_served_the_run_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two ranks start one each. Its log is there before it looks for ranks."""
    monkeypatch.setattr(os, "nice", lambda _increment: None)
    run_directory = tmp_path / "run"
    run_directory.mkdir()
    (run_directory / run_files.LOG).touch()
    assert main(str(run_directory)) == 0
    assert list(tmp_path.iterdir()) == []
    assert main(str(run_directory)) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_run_whose_own_collector_removes_it_meanwhile_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = leave_rings(tmp_path, origin_of(os.getpid(), tmp_path / "data"))
    found = list(run_files.rank_directories(directory.parent))
    shutil.rmtree(directory)
    assert collect(directory.parent, tmp_path / "data")
    monkeypatch.setattr(run_files, "rank_directories", lambda _run_directory: iter(found))
    assert collect(directory.parent, tmp_path / "data")


def test_to_ask_whether_a_run_is_served_leaves_nothing(tmp_path: Path) -> None:
    assert not is_held(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_was_removed_holds_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its holder left the directory when it was open already: the next one creates another lock."""
    opened = os.open

    def open_and_lose(path: Any, flags: int, mode: int = 0o777) -> int:
        file = opened(path, flags, mode)
        Path(path).unlink()
        return file

    with monkeypatch.context() as meanwhile, pytest.raises(SpoolLockedError):
        meanwhile.setattr(os, "open", open_and_lose)
        with locked(tmp_path):
            pass
    with locked(tmp_path):
        assert is_held(tmp_path)


def test_a_collector_leaves_its_own_run_alone_which_may_end_before_its_sweep(tmp_path: Path) -> None:
    pid, ticks = dead_pid()
    directory = leave_rings(tmp_path, origin_of(pid, tmp_path / "data", start_ticks=ticks))
    assert swept(tmp_path, tmp_path / "data", served=directory.parent) == ["left"]
    assert run_files.step_ring(directory, 0).exists()


def test_a_pid_that_was_given_to_another_process_is_dead(tmp_path: Path, stranger: subprocess.Popen[bytes]) -> None:
    ticks = procfs.start_ticks(stranger.pid)
    assert ticks is not None
    leave_rings(tmp_path, origin_of(stranger.pid, tmp_path / "data", start_ticks=ticks - 1))
    assert swept(tmp_path, tmp_path / "data") == []


def test_a_job_that_lives_keeps_its_rings_however_old(tmp_path: Path, stranger: subprocess.Popen[bytes]) -> None:
    leave_rings(tmp_path, origin_of(stranger.pid, tmp_path / "data"))
    age(run_files.owner_directory(tmp_path), 100 * DAY_S)
    assert swept(tmp_path, tmp_path / "data") == ["left"]


def test_a_job_of_another_pid_namespace_lives_while_it_is_served_or_writes(tmp_path: Path) -> None:
    """Its pid says nothing here: that of our own dead process is a living one there."""
    pid, ticks = dead_pid()
    directory = leave_rings(
        tmp_path, origin_of(pid, tmp_path / "data", start_ticks=ticks, pid_namespace="pid:[1]", hostname="container")
    )
    assert swept(tmp_path, tmp_path / "data") == ["left"]
    age(run_files.owner_directory(tmp_path), 2 * DAY_S)
    with locked(directory.parent):
        assert swept(tmp_path, tmp_path / "data") == ["left"]
    assert swept(tmp_path, tmp_path / "data") == []


def test_what_another_boot_left_is_dead_and_what_another_host_left_is_not_ours(tmp_path: Path) -> None:
    leave_rings(tmp_path, origin_of(os.getpid(), tmp_path / "data", boot_id="another"))
    assert swept(tmp_path, tmp_path / "data") == []
    leave_rings(tmp_path, origin_of(1 << 22, tmp_path / "data", boot_id="another", hostname="another"))
    age(run_files.owner_directory(tmp_path), 2 * DAY_S)
    assert swept(tmp_path, tmp_path / "data") == ["left"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory to someone else")
@pytest.mark.parametrize("how", ["theirs", "a link"])
def test_nothing_of_another_user_is_touched(tmp_path: Path, how: str) -> None:
    pid, ticks = dead_pid()
    leave_rings(tmp_path, origin_of(pid, tmp_path / "data", start_ticks=ticks))
    own = run_files.owner_directory(tmp_path)
    if how == "theirs":
        os.chown(own, 1234, 1234)
    else:
        own.rename(tmp_path / "elsewhere")
        own.symlink_to(tmp_path / "elsewhere")
    assert list(own_runs({"UNDERFED_RINGS": str(tmp_path)}, tmp_path / "data")) == []
    assert "left" in swept(tmp_path, tmp_path / "data")


def test_unfinished_files_and_empty_directories_go_after_an_hour(tmp_path: Path) -> None:
    own = run_files.make_private(run_files.owner_directory(tmp_path))
    data = tmp_path / "data"
    for name in ("empty", "locked-once", "launch-1-2"):
        (own / name).mkdir()
    (own / "locked-once" / "lock").touch()
    (own / ".newest.123").touch()
    (own / ".launch-3-4").mkdir()
    moving = data / "spool" / "run@host" / "00000001.moving"
    moving.parent.mkdir(parents=True)
    moving.touch()
    log = data / "log" / "run.log"
    log.parent.mkdir()
    log.touch()
    young = swept(tmp_path, data)
    assert young == [".launch-3-4", ".newest.123", "empty", "launch-1-2", "locked-once"]
    age(tmp_path, 2 * DAY_S)
    assert swept(tmp_path, data) == ["launch-1-2"]
    assert not moving.exists()
    assert not log.exists()


@pytest.mark.usefixtures("started_collectors")
def test_the_next_job_sweeps_what_a_killed_one_and_its_collector_left(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_id: str
) -> None:
    go_on = tmp_path / "go on"
    job = start_job("--length", "4000", "--work-ms", "5", "--at", "100", "--wait-for", str(go_on))
    wait_until(lambda: service.count_steps() > 20, "steps arrive")
    os.kill(only_collector(run_id), signal.SIGKILL)
    go_on.touch()
    for _ in range(200):
        assert job.stdout.readline()
    job.kill()
    job.communicate()
    own = run_files.owner_directory(Path(os.environ["UNDERFED_RINGS"]))
    assert (own / run_id).exists()
    arrived = service.count_steps()
    monkeypatch.setenv("UNDERFED_RUN_ID", f"{run_id}-next")
    assert run_job("--length", "400", "--work-ms", "5").returncode == 0
    wait_for_collectors(f"{run_id}-next")
    assert not (own / run_id).exists()
    assert push().returncode == 0
    ends = [window for window in service.windows if window["run_id"] == run_id and "end" in window]
    assert ends[-1]["end"]["status"] == "crashed"
    assert service.count_steps() > arrived


def test_a_host_without_a_service_stays_below_the_bound_and_push_says_what_it_cost(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_id: str
) -> None:
    service.stop()
    monkeypatch.setenv("UNDERFED_LINGER_S", "0")
    monkeypatch.setenv("UNDERFED_SPOOL_MB", "0.01")
    for number in range(3):
        monkeypatch.setenv("UNDERFED_RUN_ID", f"{run_id}-{number}")
        assert run_job("--length", "800", "--work-ms", "1").returncode == 0
        wait_for_collectors(f"{run_id}-{number}")
    kept = sum(path.stat().st_size for path in (tmp_path / "data" / "spool").rglob("*.segment"))
    assert 0 < kept <= 10_000
    service.start()
    done = push()
    assert "removed unsent" in done.stdout
    assert service.windows
