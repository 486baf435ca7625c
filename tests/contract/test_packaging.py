"""What a user gets: the wheel's contents, its dependencies, and an import that touches nothing."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    return next(folder.glob("underfed-*.whl"))


def test_the_wheel_holds_both_packages_the_page_the_migrations_and_the_photographs(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"underfed/__init__.py", "underfed_server/__init__.py", "underfed_server/static/index.html"} <= names
    assert any(name.startswith("underfed_server/static/assets/") and name.endswith(".js") for name in names)
    assert any(name.startswith("underfed_server/store/databases/migrations/versions/") for name in names)
    assert "underfed_server/demo/photographs/ATTRIBUTION.md" in names
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"underfed", "underfed_server"}


def test_the_agent_alone_needs_two_small_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata = message_from_bytes(archive.read(next(n for n in archive.namelist() if n.endswith("METADATA"))))
    base = {line.split(">")[0] for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line}
    assert base == {"nvidia-ml-py", "psutil"}


def test_installed_without_extras_it_imports_beside_nothing_else(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "clean", with_pip=True)
    python = tmp_path / "clean" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True, capture_output=True)
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], check=True, capture_output=True, text=True
    )
    installed = {line.split("==")[0] for line in listed.stdout.splitlines()}
    assert installed - {"pip", "setuptools"} == {"nvidia-ml-py", "psutil", "underfed"}
    code = "import sys, underfed; print(sorted(m for m in ('psutil', 'pynvml', 'torch', 'json') if m in sys.modules))"
    imported = subprocess.run([python, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert imported.stdout.strip() == "[]"
    commands = subprocess.run(
        [tmp_path / "clean" / "bin" / "underfed", "--help"], check=True, capture_output=True, text=True
    )
    assert "push" in commands.stdout
