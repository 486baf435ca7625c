"""PyTorch releases as the package index has them: their wheels, by pip.

Wheels for macOS are a tenth of the size of those for Linux with CUDA, and the sources in Python are the same in all.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PLATFORMS = tuple(f"macosx_{number}_0_arm64" for number in range(11, 16))
PYTHON = "3.11"
"""Every release from 2.1 on has wheels for it."""

TARGET = ["--no-deps", "--only-binary=:all:", "--python-version", PYTHON]
TARGET += [option for platform in PLATFORMS for option in ("--platform", platform)]


def newest_release() -> str:
    """As the package index has it now.

    Raises:
        AssertionError: pip gets no answer.
    """
    said = pip("index", "versions", "torch")
    found = re.match(r"torch \(([\d.]+)\)", said)
    assert found, said
    return found[1]


def download(version: str, directory: Path) -> Path:
    """The wheel, some 100 MB.

    Raises:
        AssertionError: pip gets no wheel.
    """
    pip("download", "--quiet", "--no-cache-dir", *TARGET, "--dest", str(directory), f"torch=={version}")
    (wheel,) = directory.glob("*.whl")
    return wheel


def pip(*arguments: str) -> str:
    """What pip prints. Nothing that the user has configured for it counts: a constraint on torch would be one."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--isolated", *arguments],
        env={**os.environ, "PIP_CONFIG_FILE": os.devnull},
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
