"""A disk that is full, read-only or gone costs the training nothing; what it cost the recording is counted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.forkserver import Job
from tests.fakes.jobs import end, run_job, start_job
from tests.fakes.service import Service, wait_until
from tests.fakes.traces import only_collector, wait_for_collectors
from tests.never_breaks.evidence import (
    assert_accounted_for,
    assert_all_arrived,
    assert_untouched,
    delivered,
    missing_windows,
    push,
)
from underfed.collector.spool.segment import read_segment
from underfed.collector.wire import decode_window

pytestmark = pytest.mark.usefixtures("forked_collectors")

SIZE = "1m"
LONG = ("--length", "4000", "--work-ms", "4", "--epochs", "1")
LONG_STEPS = 1000
SHORTER = ("--length", "2000", "--work-ms", "4", "--epochs", "1")
SHORTER_STEPS = 500


@pytest.fixture
def disk(tmp_path: Path, guest: None) -> Iterator[Path]:
    """A small disk for the data directory."""
    place = tmp_path / "data"
    place.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "tmpfs", place], capture_output=True, check=False
    )
    if mount.returncode != 0:
        pytest.skip(f"a disk cannot be mounted here: {mount.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def start_waiting(go_on: Path, *arguments: str, **variables: str) -> Job:
    """A job that waits in its middle."""
    return start_job(*arguments, "--at", "100", "--wait-for", str(go_on), **variables)


def fill(disk: Path) -> None:
    """Write until the disk is full."""
    with (disk / "filler").open("ab", buffering=0) as file:
        for size in (65536, 512, 1):
            try:
                while file.write(b"x" * size) == size:
                    pass
            except OSError:
                continue


def free(disk: Path) -> None:
    (disk / "filler").unlink()


def segments(directory: Path) -> list[Path]:
    return sorted(directory.glob("**/*.segment"))


def keeps_steps(directory: Path) -> bool:
    frames = [frame for path in segments(directory) for frame in read_segment(path, int(path.stem))]
    return any(decode_window(frame.body)["steps"] for frame in frames)


def see_steps(job: Job, count: int) -> str:
    """Wait until the training has done this many more."""
    lines = [job.stdout.readline() for _ in range(count)]
    assert all(lines)
    return "".join(lines)


def test_with_a_full_disk_everything_still_reaches_the_service(service: Service, disk: Path) -> None:
    fill(disk)
    assert_untouched(run_job("--workers", "2"), "--workers", "2")
    wait_until(service.ends, "the end arrives")
    assert_all_arrived(service)
    assert segments(disk) == []


def test_with_a_full_disk_and_no_service_it_is_kept_beside_the_rings(
    absent_service: Service, disk: Path, run_id: str, rings: Path
) -> None:
    fill(disk)
    job = run_job("--patient")
    assert_untouched(job)
    assert f"`UNDERFED_URL={absent_service.url} underfed push` sends" in job.stderr.splitlines()[-1]
    wait_for_collectors(run_id)
    assert (len(segments(disk)), len(segments(rings))) == (0, 1)
    absent_service.start()
    assert push().returncode == 0
    assert_all_arrived(absent_service)


def test_on_a_disk_that_fills_up_and_is_cleared_all_is_kept_in_order(
    absent_service: Service, disk: Path, run_id: str, rings: Path, go_on: Path
) -> None:
    job = start_waiting(go_on, *LONG)
    wait_until(lambda: segments(disk), "the first window is kept")
    fill(disk)
    wait_until(lambda: segments(rings), "another one is kept beside the rings")
    free(disk)
    go_on.touch()
    wait_until(lambda: not segments(rings), "it is on the disk")
    assert_untouched(end(job), *LONG)
    wait_for_collectors(run_id)
    absent_service.start()
    assert push().returncode == 0
    assert_all_arrived(absent_service, LONG_STEPS)


def test_windows_that_cannot_be_kept_are_counted_and_later_ones_are_kept_again(
    service: Service, disk: Path, go_on: Path
) -> None:
    """Rings and spool on one disk: the rings exist, and nothing more can be written."""
    rings = disk / "rings"
    rings.mkdir(mode=0o700)
    job = start_waiting(go_on, *LONG, UNDERFED_RINGS=str(rings))
    wait_until(lambda: service.count_steps() > 0, "steps arrive")
    fill(disk)
    go_on.touch()
    # Those of before it waited, and half of the others: windows are closed meanwhile.
    output = see_steps(job, 101 + 450)
    free(disk)
    done = end(job)
    assert (done.returncode, len((output + done.stdout).splitlines())) == (0, LONG_STEPS)
    wait_until(service.ends, "the end arrives")
    losses = service.windows[-1]["losses"]
    assert losses["dropped_windows"] == missing_windows(service) > 0
    assert len(delivered(service)) < LONG_STEPS
    assert (losses["dropped_steps"], losses["agent_errors"]) == (0, 0)
    # The run and its loaders may have been in a lost window, so they are sent again.
    hole = next(at for at, window in enumerate(service.windows) if window["window_index"] != at)
    assert any("run" in window and window["loaders"] for window in service.windows[hole:])
    assert service.epochs()["train", 0]["steps"] == LONG_STEPS


def test_a_read_only_disk_is_replaced_by_the_fallback(service: Service, disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    assert_untouched(run_job())
    wait_until(service.ends, "the end arrives")
    assert_all_arrived(service)


def test_a_directory_that_cannot_be_created_is_replaced_by_the_fallback(service: Service, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert_untouched(run_job(UNDERFED_DIR=str(tmp_path / "file" / "data")))
    wait_until(service.ends, "the end arrives")
    assert_all_arrived(service)


def test_the_windows_of_a_removed_spool_are_counted_as_dropped(service: Service, tmp_path: Path, go_on: Path) -> None:
    service.stop()
    job = start_waiting(go_on, *SHORTER)
    wait_until(lambda: keeps_steps(tmp_path / "data"), "a window with steps is kept")
    shutil.rmtree(tmp_path / "data")
    go_on.touch()
    wait_until(lambda: segments(tmp_path / "data"), "the next one is kept")
    service.start()
    assert_untouched(end(job), *SHORTER)
    wait_until(service.ends, "the end arrives")
    assert service.windows[-1]["losses"]["dropped_windows"] == missing_windows(service) > 0
    assert any("run" in window for window in service.windows)
    assert 0 < len(delivered(service)) < SHORTER_STEPS


def test_rings_that_somebody_removes_are_read_to_the_end(service: Service, rings: Path, go_on: Path) -> None:
    """As a host does that clears /dev/shm when a user logs out. No file can be created any more: no end mark."""
    job = start_waiting(go_on, *SHORTER, UNDERFED_STRICT="0")
    wait_until(lambda: service.count_steps() > 0, "steps arrive")
    shutil.rmtree(next(rings.iterdir()))
    go_on.touch()
    assert_untouched(end(job), *SHORTER)
    wait_until(service.ends, "the end arrives")
    assert delivered(service) == list(range(SHORTER_STEPS))


@pytest.mark.usefixtures("started_collectors")
def test_what_is_kept_beside_the_rings_outlives_the_collector(
    absent_service: Service, disk: Path, run_id: str, rings: Path, go_on: Path
) -> None:
    fill(disk)
    job = start_waiting(go_on, *SHORTER)
    wait_until(lambda: segments(rings), "a window is kept beside the rings")
    os.kill(only_collector(run_id), signal.SIGKILL)
    go_on.touch()
    assert_untouched(end(job), *SHORTER)
    wait_for_collectors(run_id)
    absent_service.start()
    free(disk)
    assert push().returncode == 0
    assert assert_accounted_for(absent_service, SHORTER_STEPS) < 50
