"""The command: its own sub-commands, those of other packages, and its error messages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from torch.utils.data import DataLoader

import underfed
from tests.fakes.datasets import Numbers
from tests.fakes.launching import make_known
from tests.fakes.service import Service
from underfed.collector.leftovers import collect
from underfed.commands import cli
from underfed.commands.push import push_all
from underfed.exchange.facts import Origin
from underfed.trainer import control


def serve(arguments: Sequence[str]) -> int:
    """Start the service and its page.

    More about it.
    """
    return len(arguments)


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that brings one command that works and one that does not."""
    entries = [
        EntryPoint("serve", "tests.agent.test_cli:serve", cli.GROUP),
        EntryPoint("show", "no_such_package.commands:show", cli.GROUP),
    ]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: entries if group == cli.GROUP else [])


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_help_lists_every_command_with_one_line(
    arguments: list[str], brought: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  push       Send what was recorded while no service could be reached." in lines
    assert "  serve      Start the service and its page." in lines
    assert any(line.startswith('  show       needs what `pip install "underfed[server]"` brings') for line in lines)


def test_a_command_gets_its_arguments_and_gives_its_exit_code(brought: None) -> None:
    assert cli.main(["serve", "--port", "1"]) == 2


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [["doctor"], pytest.param(["--help"], marks=pytest.mark.soak)])
def test_a_reader_that_ends_first_gets_no_traceback(words: list[str], unbuffered: str) -> None:
    make_known(os.environ["UNDERFED_DIR"])
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "underfed.commands.cli", *words]
    environ = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, env=environ)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, "")


def test_another_pipe_that_breaks_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def breaks(arguments: Sequence[str]) -> int:
        raise BrokenPipeError

    monkeypatch.setattr(cli, "OWN", {"push": breaks})
    with (tmp_path / "output").open("w") as output, pytest.raises(BrokenPipeError):
        monkeypatch.setattr(sys, "stdout", output)
        cli.main(["push"])


def test_a_command_whose_package_is_not_installed_says_what_to_install(
    brought: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["show", "latest"]) == 1
    assert "no_such_package" in capsys.readouterr().err


def test_an_unknown_command_lists_the_known(brought: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["nope"]) == 2
    errors = capsys.readouterr().err
    assert "there is no command 'nope'" in errors
    assert "push" in errors


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"underfed {underfed.__version__}\n"


def test_push_refuses_what_is_no_address(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("UNDERFED_URL", "nowhere")
    assert cli.main(["push"]) == 2
    assert "UNDERFED_URL" in capsys.readouterr().err


def test_push_without_anything_to_send_says_where_it_looked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert push_all({"UNDERFED_RINGS": str(tmp_path)}, tmp_path / "data") == 0
    assert capsys.readouterr().out == f"There is nothing to send in {tmp_path / 'data'}.\n"


def test_push_leaves_a_run_that_goes_on_alone(service: Service, tmp_path: Path) -> None:
    loader = underfed.watch(DataLoader(Numbers(3)))
    recording = control._state.recording
    assert recording is not None
    assert isinstance(recording.origin, Origin)
    collect(recording.directory.parent, tmp_path / "data")
    assert recording.directory.exists()
    assert len(list(loader)) == 3
