"""Programs that read files of ours as their users' would: on the path, or where ``tests/setup.sh`` lays them."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest


def program(name: str) -> str:
    """Where ``name`` is. Without it the test is skipped."""
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), str(Path(sys.executable).parent)]))
    if found is None:
        pytest.skip(f"{name} is not installed here")
    return found
