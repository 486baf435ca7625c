"""Commands started as a user starts them, bare and by ``underfed run``."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from tests.fakes.forkserver import start as fork
from tests.fakes.jobs import ROOT, environment
from underfed.host.calibration import calibrate

UNDERFED = (sys.executable, "-m", "underfed.commands.cli")
KNOWN = "calibration"


def start(*words: str, **options: Any) -> subprocess.Popen[bytes]:
    """``options`` of Popen; ``variables`` go into the environment."""
    variables = options.pop("variables", {})
    return subprocess.Popen(
        words,
        **{
            "cwd": ROOT,
            "env": environment(**variables),
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **options,
        },
    )


def start_under(*words: str, **options: Any) -> subprocess.Popen[bytes]:
    """``words``: options of ``underfed run``, ``--``, the command."""
    make_known(environment(**options.get("variables", {})).get("UNDERFED_DIR"))
    return start(*UNDERFED, "run", *words, **options)


def make_known(data_directory: str | None) -> None:
    """Put this host's calibration there: each launcher of each test would measure it again."""
    if data_directory is not None and not Path(data_directory, KNOWN).exists():
        with suppress(OSError):  # the test may be about a directory that cannot be written
            shutil.copytree(known_host() / KNOWN, Path(data_directory, KNOWN))


@cache
def known_host() -> Path:
    """Measured once in this process."""
    directory = Path(tempfile.mkdtemp(prefix="known-"))
    atexit.register(shutil.rmtree, directory)
    calibrate(directory)
    return directory


def finish(process: subprocess.Popen[bytes], given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    output, errors = process.communicate(given, timeout=300)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def run_under(*words: str, given: bytes = b"", **options: Any) -> subprocess.CompletedProcess[bytes]:
    return finish(start_under(*words, **options), given)


def run_ready(*words: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """As ``run_under``, by a launcher that is forked from a process that has imported it, most of what one costs here:
    where it is not looked at as a process. It has no input, and its output is text."""
    make_known(environment(**variables).get("UNDERFED_DIR"))
    launcher = "tests.fakes.imported_launcher"
    job = fork("underfed.commands.cli", ["run", *words], environment(**variables), imported=launcher)
    output, errors = job.communicate()
    return subprocess.CompletedProcess(words, job.wait(), output.encode(), errors.encode())


def own_lines(errors: bytes) -> list[str]:
    """Lines of the agent."""
    return [line for line in errors.decode().splitlines() if line.startswith("underfed: ")]


def others(errors: bytes) -> bytes:
    """Lines of the command itself."""
    return b"".join(line for line in errors.splitlines(keepends=True) if not line.startswith(b"underfed: "))
