"""``underfed doctor``: what it prints fits a terminal, problems are named, and unknown values are not guessed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.jobs import ROOT, environment
from tests.fakes.launching import make_known
from underfed.collector.wire import Device, HostFacts
from underfed.commands import cli, doctor
from underfed.commands.checkup import Checkup, PathFacts, examine, human, path_facts, pressure_fraction, warnings_of
from underfed.commands.doctor import WIDTH, text_of

GIB = 1 << 30


@pytest.fixture(autouse=True)
def known_host(guest: None) -> None:
    """To measure how busy cores slow each other down keeps all of them busy."""
    make_known(os.environ["UNDERFED_DIR"])


HEALTHY = Checkup(
    host=HostFacts(
        cpu_model="Intel(R) Xeon(R) Platinum 8480C",
        cpu_count=224,
        allowed_cpus=64,
        usable_cores=64.0,
        memory_total_bytes=2048 * GIB,
        memory_available_bytes=1900 * GIB,
        swap_total_bytes=0,
        shm_total_bytes=1024 * GIB,
        shm_free_bytes=1024 * GIB,
        open_files_limit=65536,
        numa_nodes=2,
        cpu_slowdown=[(1.0, 1.0), (32.0, 1.08), (64.0, 1.74)],
    ),
    throttled_us=0,
    memory_used_bytes=None,
    swap_used_bytes=0,
    open_files_hard_limit=1 << 20,
    pressure_fractions={"cpu": 0.02, "io": 0.0, "memory": 0.0},
    gpus=[Device(0, "GPU-0", "NVIDIA H200", 140 * GIB)],
    gpu_driver="560.35.03",
    paths=[
        PathFacts("/scratch", True, "/scratch", "xfs", "/dev/md0", "nvme0n1+nvme1n1", "nvme", 7000 * GIB, 900 * GIB)
    ],
    not_measured={},
)


def with_host(**facts: Any) -> Checkup:
    return replace(HEALTHY, host=replace(HEALTHY.host, **facts))


def with_path(kind: str) -> Checkup:
    return replace(HEALTHY, paths=[replace(HEALTHY.paths[0], kind=kind)])


SICK: dict[str, tuple[Checkup, str]] = {
    "one core": (with_host(usable_cores=1.0), "Usable cores: 1."),
    "a quota": (with_host(quota_cores=6.0), "quota is 6 cores, though 64 CPUs"),
    "a container's shared memory": (with_host(shm_total_bytes=64 << 20), "/dev/shm holds 64 MiB"),
    "few files": (with_host(open_files_limit=1024), "1,024 files may be open"),
    "swap": (replace(HEALTHY, swap_used_bytes=2 * GIB), "2.0 GiB are swapped out"),
    "a full limit": (
        replace(with_host(memory_limit_bytes=64 * GIB), memory_used_bytes=60 * GIB),
        "60 GiB of the memory limit of 64 GiB",
    ),
    "full memory": (with_host(memory_available_bytes=100 * GIB), "Only 100 GiB of 2.0 TiB"),
    "busy CPUs": (replace(HEALTHY, pressure_fractions={"cpu": 0.43}), "43% of the last minute"),
    "thrashing": (replace(HEALTHY, pressure_fractions={"memory": 0.02}), "waited for memory"),
    "a network": (with_path("network"), "/scratch lies behind the network"),
    "a rotating disk": (with_path("hdd"), "/scratch lies on a rotating disk"),
}


@pytest.mark.parametrize(("found", "words"), SICK.values(), ids=SICK)
def test_only_what_slows_a_loader_is_warned_of(found: Checkup, words: str) -> None:
    (warning,) = warnings_of(found)
    assert words in warning


def test_a_healthy_host_has_no_troubles() -> None:
    assert list(warnings_of(HEALTHY)) == []
    assert text_of(HEALTHY).endswith("Nothing here is known to slow a DataLoader.")


def test_what_the_system_does_not_say_is_no_trouble_and_no_number() -> None:
    silent = Checkup(HostFacts(), None, None, None, None, {}, [], None, [PathFacts("/x", True)], {"gpus": "no driver"})
    assert list(warnings_of(silent)) == []
    text = text_of(silent)
    assert "0 usable" not in text
    assert "no driver" in text
    assert "a mount that cannot be seen" in text


@pytest.mark.parametrize("found", [HEALTHY, *(found for found, _words in SICK.values())], ids=["healthy", *SICK])
def test_every_line_fits_a_terminal(found: Checkup) -> None:
    checkup = replace(found, warnings=list(warnings_of(found)))
    assert max(map(len, text_of(checkup).splitlines())) <= WIDTH == 80


def test_this_host_is_examined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "link").symlink_to("/dev/shm")
    assert cli.main(["doctor", str(tmp_path / "link")]) == 0
    out = capsys.readouterr().out
    assert f"{len(os.sched_getaffinity(0))} of {os.cpu_count()} allowed" in out
    assert "mount /dev/shm, tmpfs\n" in out
    assert "in memory" in out


def test_it_says_how_much_busy_cores_slow_each_other_down() -> None:
    assert "64 of them busy, work takes 1.74 times the CPU time it takes with one" in " ".join(text_of(HEALTHY).split())
    assert "times the CPU time" not in text_of(with_host(cpu_slowdown=None))


def test_the_json_has_what_the_text_is_made_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--json", "/dev/shm"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["host"]["allowed_cpus"] == len(os.sched_getaffinity(0))
    assert found["host"]["cpu_slowdown"][0] == [1.0, 1.0]
    assert found["open_files_hard_limit"] >= found["host"]["open_files_limit"]
    (path,) = found["paths"]
    assert (path["path"], path["mount"], path["file_system"], path["kind"]) == ("/dev/shm",) * 2 + ("tmpfs", "memory")
    assert path["total_bytes"] >= path["free_bytes"] > 0
    assert isinstance(found["warnings"], list)


def test_a_path_that_is_not_there_is_said_and_the_exit_code_says_so_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["doctor", str(tmp_path / "none"), str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert f"{tmp_path / 'none'}\n           does not exist" in out
    assert "free" in out


def test_the_agent_alone_can_do_it() -> None:
    """Of what is not in the standard library, only the two packages that the agent brings."""
    program = (
        "import sys; from underfed.commands.cli import main; main(['doctor', '/']);"
        "print({name.partition('.')[0] for name in sys.modules} & {'rich', 'torch', 'numpy', 'fastapi', 'msgspec'})"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment(), capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[-1] == "set()"


def test_pressure_is_a_share_of_the_last_minute(tmp_path: Path) -> None:
    (tmp_path / "cpu").write_text("some avg10=1.00 avg60=43.21 avg300=3.00 total=9\nfull avg10=0.00 avg60=7.00\n")
    assert pressure_fraction("cpu", tmp_path) == 0.4321
    assert pressure_fraction("io", tmp_path) is None


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (None, "–"),
        (0, "0 bytes"),
        (64 << 20, "64 MiB"),
        (1023 << 20, "1.0 GiB"),
        (1536 << 30, "1.5 TiB"),
        (999, "999 bytes"),
    ],
)
def test_sizes_are_written_in_few_digits(size: int | None, text: str) -> None:
    assert human(size) == text


def test_the_mount_of_a_path_is_that_of_what_it_links_to(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/shm")
    assert path_facts(str(link)).mount == "/dev/shm"
    assert path_facts(str(tmp_path / "gone")).exists is False


@pytest.fixture
def relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "photos").mkdir()
    monkeypatch.chdir(tmp_path)
    yield


def test_a_relative_path_is_shown_in_full(relative: None, tmp_path: Path) -> None:
    assert [path.path for path in examine(["photos"]).paths] == [str((tmp_path / "photos").resolve())]
    assert doctor.doctor(["photos"], is_json=False) == 0
