"""Whatever the host lacks, and whoever shares it: training goes on, and what can be recorded is."""

from __future__ import annotations

import ast
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.forkserver import start
from tests.fakes.jobs import ROOT, end, environment, last_line, run_job, start_job
from tests.fakes.service import Service, running_service, wait_until
from tests.fakes.traces import wait_for_collectors
from tests.never_breaks.evidence import (
    STEPS,
    assert_all_arrived,
    assert_untouched,
    push,
    said,
    start_confined,
)

OTHER = 100_000 + os.getpid()
"""A user id that no other test uses at this time. It has neither a name nor a home, except in its environment."""

SHARED_MEMORY = Path("/dev/shm")


@pytest.fixture(scope="module")
def root_powers() -> None:
    """Skips where mounting and changing the user are not allowed."""
    tried = end(start_confined("--shm", "size=1m", "--user", str(OTHER), "--try", UNDERFED_DISABLED="1"))
    if tried.returncode != 0:
        pytest.skip(f"a host of its own cannot be made here: {last_line(tried.stderr)}")


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, root_powers: None) -> Iterator[Path]:
    """The home of another user."""
    place = Path(f"/tmp/underfed-home-{os.getpid()}")
    place.mkdir(mode=0o700)
    os.chown(place, OTHER, OTHER)
    yield place
    shutil.rmtree(place)


def as_at_home(home: Path, url: str, run_id: str) -> dict[str, str]:
    """The environment of a user who sets nothing but the address."""
    return environment_without("UNDERFED_RINGS", "UNDERFED_DIR") | {
        "HOME": str(home),
        "UNDERFED_URL": url,
        "UNDERFED_RUN_ID": run_id,
    }


def environment_without(*names: str) -> dict[str, str]:
    return {name: value for name, value in environment().items() if name not in names}


def test_users_of_one_host_do_not_see_each_others_runs(service: Service, run_id: str, home: Path) -> None:
    """Two runs of one name, at the same time, in the default places."""
    go_on = home / "go on"
    waiting = ["--length", "400", "--work-ms", "10", "--at", "50", "--wait-for", str(go_on)]
    with running_service() as others:
        mine = start_job(*waiting)
        theirs = start(
            "tests.fakes.confined",
            ["--user", str(OTHER), "--", *waiting],
            as_at_home(home, others.url, run_id),
        )
        wait_until(lambda: service.count_steps() > 0 and others.count_steps() > 0, "both arrive")
        rings = [
            Path(os.environ["UNDERFED_RINGS"]) / "underfed-0" / run_id,
            SHARED_MEMORY / f"underfed-{OTHER}" / run_id,
        ]
        for place, owner in zip(rings, (0, OTHER), strict=True):
            for directory in (place.parent, place, next(place.glob("rank-*"))):
                found = directory.stat()
                assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (owner, 0o700)
        look = subprocess.run(["ls", rings[0]], user=OTHER, capture_output=True, check=False)
        assert look.returncode != 0
        go_on.touch()
        assert all(end(job).returncode == 0 for job in (mine, theirs))
        wait_until(lambda: service.ends() and others.ends(), "both end")
        wait_for_collectors(run_id)
        for each in (service, others):
            assert_all_arrived(each, 200)
    assert not rings[1].exists()
    shutil.rmtree(rings[1].parent)


@pytest.mark.parametrize("occupied_by", ["directory", "link"])
def test_what_somebody_else_put_in_our_place_is_not_used(
    service: Service, run_id: str, home: Path, occupied_by: str
) -> None:
    variables = as_at_home(home, service.url, run_id)
    arguments = ["--shm", "size=256m,mode=1777", "--occupied-by", occupied_by, "--user", str(OTHER)]
    job = end(start("tests.fakes.confined", arguments, variables))
    assert_untouched(job)
    wait_until(service.ends, "the end arrives")
    assert_all_arrived(service)
    # On the disk instead, in a directory of the user's own.
    assert (home / ".local" / "share" / "underfed" / "run" / f"underfed-{OTHER}").is_dir()
    wait_for_collectors(run_id)


@pytest.mark.parametrize("shm", ["size=1m,mode=1777", "ro"])
def test_a_shared_memory_that_is_small_or_read_only_is_not_used(
    service: Service, run_id: str, root_powers: None, shm: str
) -> None:
    job = start("tests.fakes.confined", ["--shm", shm], environment_without("UNDERFED_RINGS", "XDG_RUNTIME_DIR"))
    assert_untouched(end(job))
    wait_until(service.ends, "the end arrives")
    assert_all_arrived(service)
    wait_for_collectors(run_id)


def test_rings_that_find_no_room_are_counted_and_cost_no_batch(
    service: Service, run_id: str, root_powers: None
) -> None:
    """Room for the facts of the run, and none for its records."""
    job = end(start_confined("--shm", "size=64k,mode=1777", UNDERFED_RINGS=str(SHARED_MEMORY), UNDERFED_STRICT="0"))
    assert_untouched(job)
    wait_until(service.ends, "the end arrives")
    assert service.count_steps() == 0
    assert service.windows[-1]["losses"]["agent_errors"] > 0
    wait_for_collectors(run_id)


def test_a_user_without_home_and_name_is_recorded(absent_service: Service, run_id: str, root_powers: None) -> None:
    data = Path(f"/tmp/underfed-{OTHER}")
    variables = environment_without("UNDERFED_RINGS", "UNDERFED_DIR", "HOME", "TMPDIR", "USER", "LOGNAME")
    job = end(start("tests.fakes.confined", ["--user", str(OTHER)], variables))
    assert_untouched(job)
    wait_for_collectors(run_id)
    assert stat.S_IMODE((data / "spool").stat().st_mode) & 0o022 == 0
    absent_service.start()
    assert push(str(data)).returncode == 0
    assert_all_arrived(absent_service)
    shutil.rmtree(data)
    shutil.rmtree(SHARED_MEMORY / f"underfed-{OTHER}")


def test_without_a_place_for_rings_one_line_says_so_and_training_goes_on(service: Service, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    job = run_job(UNDERFED_RINGS=str(tmp_path / "file"))
    assert_untouched(job)
    (line,) = said(job)
    assert line.startswith("underfed: nothing is recorded: ")
    assert service.windows == []


@pytest.mark.usefixtures("forked_collectors")
def test_a_clock_that_is_set_back_does_not_change_the_order_of_incarnations(service: Service) -> None:
    """The same run begins again, an hour earlier by the wall clock; each time its own clock begins at 0."""
    for wall_clock_s in (0, -3600):
        assert_untouched(end(start_confined("--wall-clock-s", str(wall_clock_s))))
    wait_until(lambda: len(service.ends()) == 2, "both end")
    first, second = dict.fromkeys(window["incarnation"] for window in service.windows)
    assert first < second
    for incarnation in (first, second):
        windows = [window for window in service.windows if window["incarnation"] == incarnation]
        assert [window["window_index"] for window in windows] == list(range(len(windows)))
        assert all(0 <= window["start_us"] <= window["end_us"] for window in windows)
        assert sum(len(steps["step_us"]) for window in windows for steps in window["steps"]) == STEPS
    started_at = list(dict.fromkeys(window["started_at"] for window in service.windows))
    assert started_at == sorted(started_at, reverse=True)


def test_the_wall_clock_is_read_in_one_place() -> None:
    """What is measured cannot jump with it, in the training process or in the collector."""
    package = ROOT / "agent" / "underfed"
    readers = {path.name for path in package.rglob("*.py") if WALL_CLOCK & set(names_read(ast.parse(path.read_text())))}
    assert readers - AGES_OF_FILES == {"clock.py"}


AGES_OF_FILES = {"rank_stream.py", "files.py", "all_spools.py", "leftovers.py"}
"""They compute how long ago a file was changed, which the file system keeps by the wall clock: whether a process still
waits for its second to pass, whether it is too early to trust that nothing changed again, what was left long ago."""

WALL_CLOCK = {"time.time", "time.time_ns", "time.ctime", "time.localtime", "time.gmtime", "datetime.now"}


def names_read(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{each.name}" for each in node.names)
