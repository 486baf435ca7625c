"""The agent's tests on one Python with one PyTorch."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST_S = 3_600

NEEDED = ("hypothesis", "nvidia-ml-py", "psutil", "pytest", "pytest-timeout")
INSTALL = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:")
TESTS = (
    "tests/agent/indistinguishable",
    "tests/agent/test_every_loader.py",
    "tests/agent/test_samplers.py",
    "tests/agent/test_splice.py",
    "tests/agent/test_watched_loaders.py",
    "tests/agent/test_workers.py",
)
PYTEST = ("-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider", *TESTS)

FIND_THE_AGENT = """
import pathlib, sys, sysconfig
pathlib.Path(sysconfig.get_path("purelib"), "agent.pth").write_text(sys.argv[1])
"""
"""Unlike ``PYTHONPATH`` this reaches the programs that tests start with an environment of their own."""

WHICH = "import platform, torch; print(f'Python {platform.python_version()}, torch {torch.__version__}')"


@dataclass(frozen=True, slots=True)
class Outcome:
    said: str
    """In a line."""
    is_red: bool = False
    is_tried: bool = True
    """What it takes was to be had."""


def run(command: Sequence[str], settings: Mapping[str, str] = {}) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **settings}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST_S, check=False
    )


def try_with(python: Sequence[str], steps: Iterable[Sequence[str]], settings: Mapping[str, str] = {}) -> Outcome:
    """The tests on ``python``, once ``steps`` have installed it; ``settings``: environment of the steps."""
    for step in steps:
        if (done := run(step, settings)).returncode != 0:
            return not_had(done)
    which = run([*python, "-c", WHICH]).stdout.strip()
    tested = run([*python, *PYTEST])
    if tested.returncode != 0:
        print(tested.stdout[-20_000:], flush=True)
    return Outcome(f"{which}: {last_line(tested.stdout)}", is_red=tested.returncode != 0)


def not_had(done: subprocess.CompletedProcess[str]) -> Outcome:
    return Outcome(f"not had: {last_line(done.stderr or done.stdout)}", is_tried=False)


def last_line(text: str) -> str:
    """Of what is no warning."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(("WARNING", "[notice]"))]
    return lines[-1] if lines else "it said nothing"
