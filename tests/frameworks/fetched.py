"""Environments with what is fetched for a test: packages that are too heavy for the one of all tests."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.soak.trying import INSTALL, ROOT


def python_with(*packages: str, place: Path) -> str:
    """Of an environment below ``place`` with these, and behind them with what this one has."""
    environment = place / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    had = subprocess.run([python, *INSTALL, *packages], capture_output=True, text=True, check=False)
    if had.returncode != 0:
        pytest.skip(f"not had: {had.stderr[-300:]}")
    (site,) = environment.glob("lib/python*/site-packages")
    places = [sysconfig.get_path("purelib"), str(ROOT / "agent"), str(ROOT)]
    (site / "places.pth").write_text("\n".join(places))
    return str(python)
