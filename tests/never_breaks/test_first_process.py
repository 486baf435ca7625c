"""The trainer, or ``underfed run``, as process 1 of a container: it is init there, and all ends with it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.jobs import end, environment, run_job
from tests.fakes.launching import finish, make_known, start
from tests.fakes.service import Service, is_preliminary, wait_until
from tests.never_breaks.evidence import delivered, start_confined

UNSHARE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
JOB = (sys.executable, "-m", "tests.fakes.training", "--wait-for")
PATIENT = (
    sys.executable,
    "-c",
    "from underfed.commands.cli import main; from underfed.launcher import run; run.DRAIN_S = run.STARTING_S = 120.0;"
    "raise SystemExit(main())",
)
"""``underfed``, which waits for its collector however long that takes."""

STATUS = {"normally": ("finished", 0), "exit 3": ("crashed", 3), "raise": ("crashed", 1), "leave": ("crashed", 5)}


@pytest.fixture(autouse=True)
def container(rings: Path) -> Iterator[None]:
    """A container's /dev/shm ends with it, and so does what its collector had no time to remove."""
    if subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no process can be the first of a namespace here")
    yield
    for directory in rings.iterdir():
        shutil.rmtree(directory)


TRAINERS = [("normally", "2"), ("loader raises", "2")]
OTHER_TRAINERS = [
    ("normally", "0"),
    ("exit 3", "0"),
    ("exit 3", "2"),
    ("raise", "0"),
    ("raise", "2"),
    ("loader raises", "0"),
]


@pytest.mark.parametrize(
    ("how", "workers"), [*TRAINERS, *(pytest.param(*each, marks=pytest.mark.soak) for each in OTHER_TRAINERS)]
)
def test_a_trainer_as_process_1_ends_as_without_us_and_all_of_it_arrives(
    service: Service, tmp_path: Path, go_on: Path, how: str, workers: str
) -> None:
    arguments = ("--end", how, "--workers", workers)
    started = start_confined("--first", job=("--patient", "--wait-for", str(go_on), *arguments))
    wait_until(lambda: service.windows, "the collector is there")
    go_on.touch()
    job = end(started)
    bare = run_job("--wait-for", str(tmp_path), *arguments, UNDERFED_DISABLED="1")
    assert (job.returncode, job.stdout) == (bare.returncode, bare.stdout)
    ends = [window["end"] for window in service.windows if "end" in window]
    assert len(delivered(service)) == len(job.stdout.splitlines())
    # The collector ends with it: nobody is left to whom the kernel could report.
    (reported,) = ends
    assert reported["status"] == ("crashed" if "raise" in how else "finished")
    assert is_preliminary(reported)


# What it sees of the others is an exit code, too.
@pytest.mark.parametrize(
    "how", ["leave", *(pytest.param(how, marks=pytest.mark.soak) for how in ("normally", "exit 3", "raise"))]
)
def test_underfed_run_as_process_1_reports_the_status(service: Service, tmp_path: Path, go_on: Path, how: str) -> None:
    make_known(environment()["UNDERFED_DIR"])
    bare = run_job("--wait-for", str(tmp_path), "--end", how, UNDERFED_DISABLED="1")
    started = start(*UNSHARE, *PATIENT, "run", "--", *JOB, str(go_on), "--end", how)
    wait_until(lambda: service.windows, "the collector is there")
    go_on.touch()
    done = finish(started)
    assert (done.returncode, done.stdout.decode()) == (bare.returncode, bare.stdout)
    status, code = STATUS[how]
    wait_until(service.ends, "the end arrives")
    (reported,) = service.ends()
    assert (reported["status"], reported["exit_code"]) == (status, code)


ZOMBIES = """
import os, signal, time, underfed
from pathlib import Path
from torch.utils.data import DataLoader
from underfed.trainer import collector_process, control
from underfed.trainer.collector_process import ensure_collector

def children(state):
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] == "1" and fields[0] in state:
            found.append(int(path.parent.name))
    return found

assert os.getpid() == 1
collector_process.STARTING_S = 0.0  # the next one need not wait for what it may be doing
loader = underfed.watch(DataLoader(range(64), batch_size=1), name="train")
list(loader)
recording = control._state.recording
for _ in range(3):
    while not children("RSD"):
        time.sleep(0.01)
    for collector in children("RSD"):
        os.kill(collector, signal.SIGKILL)
    while children("RSD"):
        time.sleep(0.01)
    ensure_collector(recording.directory.parent, recording.guard, is_end=True)
    while len(children("RSD")) < 1:
        time.sleep(0.1)
        ensure_collector(recording.directory.parent, recording.guard, is_end=True)
while children("Z"):
    time.sleep(0.01)
    collector_process.reap_ended()
print("none")
"""


def test_collectors_that_died_are_no_zombies_there(service: Service) -> None:
    done = end(start_confined("--first", "--program", "tests.fakes.text", job=(ZOMBIES,)))
    assert done.stdout == "none\n", done.stderr
