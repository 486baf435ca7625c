"""``make soak``: the tests marked soak, and those of the agent on each Python and PyTorch that can be had here.

Interpreters are those on the path and of pyenv and uv, from 3.10 to 3.14. PyTorch comes from
``UNDERFED_TORCH_INDEX``, which has wheels for the CPU, and from where the user's pip looks beside an index.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
LONGEST_S = 1_800

TORCH_INDEX = os.environ.get("UNDERFED_TORCH_INDEX", "https://download.pytorch.org/whl/cpu")
OLDEST_TORCH = {10: "2.1.2", 11: "2.1.2", 12: "2.4.1", 13: "2.6.0", 14: "2.9.0"}
"""By Python's minor version: of what we support, the first with wheels for it."""
WITH_NUMPY_1 = ("torch==2.1.2",)

NEEDED = ("hypothesis", "nvidia-ml-py", "psutil", "pytest", "pytest-timeout")
TESTS = (
    "tests/agent/indistinguishable",
    "tests/agent/test_every_loader.py",
    "tests/agent/test_samplers.py",
    "tests/agent/test_splice.py",
    "tests/agent/test_watched_loaders.py",
    "tests/agent/test_workers.py",
)

ASKED = """
import json, sys, sysconfig
print(json.dumps([sys.version_info[:3], sysconfig.get_config_var("Py_GIL_DISABLED")]))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    path: str
    version: tuple[int, int, int]
    is_free_threaded: bool

    def __str__(self) -> str:
        return ".".join(map(str, self.version)) + ("t" if self.is_free_threaded else "")


def interpreters() -> list[Interpreter]:
    """The newest patch release of each."""
    found: dict[tuple[int, bool], Interpreter] = {}
    for path in candidates():
        said = run([path, "-I", "-c", ASKED])
        if said.returncode != 0:
            continue
        (major, minor, patch), without_gil = json.loads(said.stdout)
        one = Interpreter(path, (major, minor, patch), bool(without_gil))
        key = (minor, one.is_free_threaded)
        if major == 3 and minor in OLDEST_TORCH and (key not in found or found[key].version < one.version):
            found[key] = one
    return [one for _, one in sorted(found.items())]


def candidates() -> Iterator[str]:
    for minor in OLDEST_TORCH:
        for name in (f"python3.{minor}", f"python3.{minor}t"):
            if (on_path := shutil.which(name)) is not None:
                yield on_path
    yield from map(str, Path.home().glob(".pyenv/versions/3.*/bin/python3"))
    yield from map(str, Path.home().glob(".local/share/uv/python/cpython-3.*/bin/python3"))


@dataclass(frozen=True, slots=True)
class Outcome:
    said: str
    """In a line."""
    is_red: bool = False


def try_on(interpreter: Interpreter, torch: str) -> Outcome:
    with TemporaryDirectory(prefix="underfed-soak-") as directory:
        python = str(Path(directory) / "bin" / "python")
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
        steps = (
            [interpreter.path, "-m", "venv", directory],
            # Not from PyPI, whose wheels for Linux bring CUDA; what torch needs beside it is there.
            [*pip, "--index-url", TORCH_INDEX, "--no-deps", torch],
            [*pip, torch, *NEEDED, "numpy<2" if torch in WITH_NUMPY_1 else "numpy"],
        )
        for step in steps:
            if (done := run(step)).returncode != 0:
                return Outcome(f"not had: {last_line(done.stderr)}")
        version = run([python, "-c", "import torch; print(torch.__version__)"]).stdout.strip()
        tested = run([python, "-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider", *TESTS])
        if tested.returncode != 0:
            print(tested.stdout[-20_000:], flush=True)
        return Outcome(f"torch {version}: {last_line(tested.stdout)}", is_red=tested.returncode != 0)


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "agent")}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST_S, check=False
    )


def last_line(text: str) -> str:
    """Of what is no warning."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(("WARNING", "[notice]"))]
    return lines[-1] if lines else "it said nothing"


def main() -> int:
    outcomes: dict[str, Outcome] = {}
    for interpreter in interpreters():
        for torch in (f"torch=={OLDEST_TORCH[interpreter.version[1]]}", "torch"):
            name = f"Python {interpreter}, {torch}"
            print(name, flush=True)
            outcomes[name] = try_on(interpreter, torch)
    missing = sorted(OLDEST_TORCH.keys() - {each.version[1] for each in interpreters()})
    outcomes |= {f"Python 3.{minor}": Outcome("not had: no such interpreter here") for minor in missing}
    suite = [sys.executable, "-m", "pytest", "--soak", "--timeout", str(LONGEST_S)]
    code = subprocess.run(suite, cwd=ROOT, check=False).returncode
    print("\nThe agent's tests on other Pythons and PyTorches")
    for name, outcome in outcomes.items():
        print(f"{name}: {outcome.said}")
    return 1 if code or any(outcome.is_red for outcome in outcomes.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
