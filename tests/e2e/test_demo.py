"""``underfed demo`` as a user runs it, from its first line to nothing left behind."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from PIL import Image

from tests.app.serving import poll
from tests.fakes.environment import clean_environment
from underfed_server.demo import photographs
from underfed_server.demo.command import demo

UNDERFED = Path(sys.executable).with_name("underfed")


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shared by the demos that train to their end, so that the photographs are made once."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a demo has its photographs, of which a few suffice: to make all of them takes longer than to train."""
    monkeypatch.setattr(photographs, "PER_CLASS", 2)
    photographs.photograph_files(tmp_path / "demo")
    return tmp_path


def start(directory: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [UNDERFED, "demo", "--no-browser", *arguments],
        env=clean_environment(UNDERFED_DIR=str(directory), COLUMNS="100"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def left_behind(directory: Path) -> list[list[str]]:
    """Command lines of processes that still work in the demo's directory or for its runs."""

    def lines() -> Iterator[list[str]]:
        for process in psutil.process_iter(["cmdline"]):
            words = process.info["cmdline"] or []
            if any(str(directory) in word or "underfed/photographs-" in word for word in words):
                yield words

    return list(lines())


@pytest.mark.soak(passes=2, of=3)
def test_once_shows_verdict_advice_and_proof_and_ends_well(directory: Path, free_port: int) -> None:
    demo = start(directory, "--once", "--seconds", "12", "--port", str(free_port))
    output, _ = demo.communicate(timeout=300)
    assert demo.returncode == 0, output
    assert f"http://127.0.0.1:{free_port}" in output
    assert re.search(r"The training loop waits for data \d\d% of every step(, and \d\d% with .*)?\.", output), output
    assert "no workers" in output
    assert "+    num_workers=" in output
    assert re.search(r"Predicted × \d\.\d\d, observed × \d\.\d\d\.", output), output
    poll(lambda: not left_behind(directory))


@pytest.mark.soak(passes=2, of=3)
def test_a_job_that_tunes_itself_is_started_once_and_becomes_fast(directory: Path, free_port: int) -> None:
    demo = start(directory, "--tune", "--once", "--seconds", "60", "--port", str(free_port))
    output, _ = demo.communicate(timeout=400)
    assert demo.returncode == 0, output
    assert "Second run" not in output
    assert "kept a faster setting" in output
    assert re.search(r"× [1-9]\.\d\d as fast, measured while it trained\.", output), output
    poll(lambda: not left_behind(directory))


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.soak), signal.SIGTERM])
def test_an_interrupted_demo_leaves_no_process(prepared: Path, free_port: int, number: signal.Signals) -> None:
    demo = start(prepared, "--port", str(free_port))
    assert demo.stdout is not None
    for line in demo.stdout:
        if "First run" in line:
            break
    poll(lambda: any("train.py" in " ".join(words) for words in left_behind(prepared)))
    demo.send_signal(number)
    output = demo.communicate(timeout=300)[0]
    assert demo.returncode == 130, output
    assert "Interrupted" in output
    assert left_behind(prepared) == []


def test_photographs_are_cut_once_and_those_that_an_interruption_left_unfinished_again(prepared: Path) -> None:
    cut = photographs.photograph_files(prepared / "demo")
    assert len(cut) == 2 * len(photographs.CLASSES) and {each.label for each in cut} == set(range(6))
    first, *_ = cut
    with Image.open(first.path) as picture:
        assert picture.width >= photographs.SMALLEST[0] and picture.height >= photographs.SMALLEST[1]
    written_at = first.path.stat().st_mtime_ns
    assert photographs.photograph_files(prepared / "demo") == cut
    assert first.path.stat().st_mtime_ns == written_at
    (first.path.parents[1] / "classes.json").unlink()
    first.path.unlink()
    assert photographs.photograph_files(prepared / "demo") == cut
    assert first.path.exists()


def test_a_taken_port_is_named_with_the_way_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert demo(["--no-browser", "--once", "--port", str(port)]) == 1
    output = capsys.readouterr().out
    assert f"port {port} is in use" in output and "--port" in output


def test_a_wrong_option_is_refused_before_anything_starts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        demo(["--no-browser", "--seconds", "0"])
    assert refused.value.code == 2
    assert "--seconds must be between 5 and 3600" in capsys.readouterr().err
