"""What a user gets: the wheel's contents, its dependencies, and an import that touches nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import venv
import zipfile
from email import message_from_bytes
from email.message import Message
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from hatch_metadata import addresses, from_elsewhere

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip(sys.executable, "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    return next(folder.glob("underfed-*.whl"))


def test_the_wheel_holds_both_packages_the_page_the_migrations_and_the_photographs(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"underfed/__init__.py", "underfed_server/__init__.py", "underfed_server/static/index.html"} <= names
    assert any(name.startswith("underfed_server/static/assets/") and name.endswith(".js") for name in names)
    assert any(name.startswith("underfed_server/store/databases/migrations/versions/") for name in names)
    assert "underfed_server/demo/photographs/ATTRIBUTION.md" in names
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"underfed", "underfed_server"}


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        return message_from_bytes(archive.read(next(n for n in archive.namelist() if n.endswith("METADATA"))))


def test_the_agent_alone_needs_two_small_packages(metadata: Message) -> None:
    base = {line.split(">")[0] for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line}
    assert base == {"nvidia-ml-py", "psutil"}


def test_the_metadata_say_what_it_is_and_under_which_licence(metadata: Message) -> None:
    assert metadata["License-Expression"] == "Apache-2.0"
    assert len(metadata.get_all("License-File", [])) == 2
    classifiers = metadata.get_all("Classifier", [])
    assert {"Operating System :: POSIX :: Linux", "Typing :: Typed"} <= set(classifiers)
    oldest = metadata["Requires-Python"].removeprefix(">=")
    assert min((c for c in classifiers if re.search(r":: 3\.\d+$", c)), key=minor).endswith(f":: {oldest}")


def minor(classifier: str) -> int:
    return int(classifier.rpartition(".")[2])


def test_an_index_shows_no_link_that_leads_nowhere_there() -> None:
    text = "![seen](docs/run.png) [page](docs/a.md#b) [site](https://a.b) [c](#c)"
    assert from_elsewhere(text, "") == " page [site](https://a.b) [c](#c)"
    assert from_elsewhere(text, "https://r") == (
        "![seen](https://r/raw/HEAD/docs/run.png) [page](https://r/blob/HEAD/docs/a.md#b) [site](https://a.b) [c](#c)"
    )
    assert addresses("") == {}
    pointed = [path.partition("/HEAD/")[2] for path in addresses("https://r").values() if "/HEAD/" in path]
    assert pointed and all(ROOT.joinpath(path).is_file() for path in pointed)


def test_what_publishes_has_no_password_and_starts_what_there_is() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    jobs = yaml.safe_load(text)["jobs"]
    assert "secrets." not in text
    assert jobs["pypi"]["permissions"] == {"id-token": "write"}
    assert jobs["pypi"]["environment"] == "pypi"
    started = set(re.findall(r"\b(?:deploy|docs)/[\w./-]+", text))
    assert started and all(ROOT.joinpath(path).is_file() for path in started)


def test_installed_without_extras_it_imports_beside_nothing_else(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "clean")
    alone = ("--no-index", "--no-deps", "--ignore-installed")
    pip(sys.executable, "install", *alone, "--prefix", str(tmp_path / "clean"), str(wheel))
    (packages,) = tmp_path.glob("clean/lib/python*/site-packages")
    for name in ("psutil", "pynvml"):
        source = find_spec(name)
        assert source is not None and source.origin is not None
        file = Path(source.origin)
        packages.joinpath(name).symlink_to(file.parent) if file.name == "__init__.py" else shutil.copy(file, packages)
    assert_it_works(tmp_path / "clean" / "bin")


@pytest.mark.soak
def test_installed_from_the_index_it_brings_two_packages(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "clean", with_pip=True)
    python = tmp_path / "clean" / "bin" / "python"
    pip(python, "install", str(wheel))
    listed = run(python, "-m", "pip", "list", "--format=freeze")
    installed = {line.split("==")[0] for line in listed.splitlines()}
    assert installed - {"pip", "setuptools"} == {"nvidia-ml-py", "psutil", "underfed"}
    assert_it_works(python.parent)


def assert_it_works(clean: Path) -> None:
    modules = ("psutil", "pynvml", "torch", "json")
    code = f"import sys, underfed; print(sorted(name for name in {modules} if name in sys.modules))"
    assert run(clean / "python", "-c", code).strip() == "[]"
    assert "push" in run(clean / "python", clean / "underfed", "--help")


def pip(python: str | Path, *arguments: str) -> None:
    run(python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments)


def run(*words: str | Path) -> str:
    """What it prints. It starts where nothing of this checkout lies."""
    finished = subprocess.run(words, cwd="/", capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout
