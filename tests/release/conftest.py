"""A release, built once from copies of this tree by the tools that release.yml uses. All of it is for ``make soak``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.soak.trying import INSTALL, ROOT

COMMITTED_AT = "1700000000"


def run(*words: str | Path, cwd: Path = ROOT, **variables: str) -> str:
    """What it prints."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=1_200,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-6_000:]
    return done.stdout


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment's programs: what releases and the site are built with, uv and pipx."""
    place = tmp_path_factory.mktemp("tools")
    run(sys.executable, "-m", "venv", place)
    wanted = [
        f"--requirement={ROOT / file}" for file in ("deploy/release/requirements.txt", "docs/site/requirements.txt")
    ]
    run(place / "bin" / "python", *INSTALL, *wanted, "uv", "pipx")
    return place / "bin"


def copied(place: Path) -> Path:
    """What git has, or would have, of this tree, with new times."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, place / name)
            shutil.copymode(ROOT / name, place / name)
    return place


def release(place: Path, tools: Path, variables: Mapping[str, str]) -> Path:
    """The folder with a release that is built in a copy of this tree."""
    tree = copied(place / "tree")
    settings = {"PYTHON": str(tools / "python"), "SOURCE_DATE_EPOCH": COMMITTED_AT, **variables}
    run("bash", tree / "deploy" / "release" / "build.sh", place / "dist", cwd=place, **settings)
    return place / "dist"


@pytest.fixture(scope="session")
def built(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release(tmp_path_factory.mktemp("built"), tools, {})


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


@pytest.fixture(scope="session")
def bundle(wheel: Path, tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bundle") / "underfed-offline"
    python = str(tools / "python")
    script = ROOT / "deploy" / "offline" / "bundle.sh"
    run("bash", script, wheel, place, PYTHON=python, SOURCE_DATE_EPOCH=COMMITTED_AT)
    return place.with_name("underfed-offline.tar")


def unpack(bundle: Path, place: Path) -> None:
    with tarfile.open(bundle) as archive:
        archive.extractall(place, filter="data")
