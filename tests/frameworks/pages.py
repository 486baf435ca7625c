"""The programs of docs/frameworks, and how they are run: ``python -m tests.frameworks.pages NAME``.

A page's program is all of its Python, in order: what a reader copies is what is tested.
"""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.frameworks.program import recording_everything

FOLDER = Path(__file__).parents[2] / "docs" / "frameworks"

STEPS = {
    "accelerate": 16,
    "datasets": 16,
    "lightning": 16,
    "pytorch": 24,
    "ray": 32,
    "torchdata": 8,
    "torchrun": 8,
    "transformers": 16,
    "webdataset": 8,
}
"""That each page's program trains: of two ranks, ``ray`` both together and ``torchrun`` each."""


def program_of(page: str) -> str:
    text = FOLDER.joinpath(f"{page}.md").read_text()
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


def run_page(page: str) -> None:
    """In this process, recorded as by ``underfed run``."""
    with TemporaryDirectory() as folder, recording_everything():
        script = Path(folder, "train.py")
        script.write_text(program_of(page))
        runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    run_page(sys.argv[1])
