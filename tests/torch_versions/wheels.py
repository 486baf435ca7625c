"""The sources of ``torch.utils.data`` of any PyTorch release: out of its wheel, by pip, into a cache of the user's.

Wheels for macOS are a tenth of the size of those for Linux with CUDA, and these sources are the same in all of them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from zipfile import ZipFile

PART = "torch/utils/data/"
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


def sources(version: str) -> Path:
    """A directory with ``torch/utils/data`` of that release. Downloads some 100 MB once, keeps half a megabyte.

    Raises:
        AssertionError: pip gets no wheel.
    """
    kept = cache() / version
    if not kept.is_dir():
        cache().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache()) as scratch:
            fresh = Path(scratch, version)
            pip("download", "--quiet", "--no-cache-dir", *TARGET, "--dest", scratch, f"torch=={version}")
            (wheel,) = Path(scratch).glob("*.whl")
            unpack(wheel, fresh)
            fresh.rename(kept)
    return kept


def cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "underfed-tests" / "torch-sources"


def unpack(wheel: Path, directory: Path) -> None:
    with ZipFile(wheel) as archive:
        members = [name for name in archive.namelist() if name.startswith(PART) and name.endswith(".py")]
        assert f"{PART}dataloader.py" in members
        archive.extractall(directory, members)


def pip(*arguments: str) -> str:
    """What pip prints."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, timeout=170, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
