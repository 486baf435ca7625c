"""The Pythons that are installed here: those on the path, and of pyenv and uv, from 3.10 to 3.14.

Their PyTorch comes from ``UNDERFED_TORCH_INDEX``, which has wheels for the CPU, and from the folders that
``PIP_FIND_LINKS`` names; never from PyPI, whose wheels for Linux bring gigabytes of CUDA.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.soak.trying import FIND_THE_AGENT, INSTALL, NEEDED, ROOT, Outcome, run, try_with

TORCH_INDEX = os.environ.get("UNDERFED_TORCH_INDEX", "https://download.pytorch.org/whl/cpu")
OLDEST_TORCH = {10: "2.1.2", 11: "2.1.2", 12: "2.4.1", 13: "2.6.0", 14: "2.9.0"}
"""By Python's minor version: of what we support, the first with wheels for it."""
WITH_NUMPY_1 = ("torch==2.1.2",)

# What the user's pip is configured to look through may hold wheels with CUDA.
UNCONFIGURED = {"PIP_CONFIG_FILE": os.devnull}

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


def torches(interpreter: Interpreter) -> tuple[str, str]:
    """The oldest and the newest, as pip takes them."""
    return f"torch=={OLDEST_TORCH[interpreter.version[1]]}", "torch"


def try_on(interpreter: Interpreter, torch: str) -> Outcome:
    with TemporaryDirectory(prefix="underfed-soak-") as directory:
        python = str(Path(directory) / "bin" / "python")
        steps = (
            [interpreter.path, "-m", "venv", directory],
            [python, *INSTALL, "--index-url", TORCH_INDEX, "--no-deps", torch],
            # What torch needs beside it is on PyPI.
            [python, *INSTALL, torch, *NEEDED, "numpy<2" if torch in WITH_NUMPY_1 else "numpy"],
            [python, "-c", FIND_THE_AGENT, str(ROOT / "agent")],
        )
        return try_with([python], steps, UNCONFIGURED)
