"""The demo's photographs, cut once into a place that later trainings find."""

from __future__ import annotations

import tempfile
from pathlib import Path

from underfed_server.demo.photographs import Photograph, photograph_files

__all__ = ["SECONDS", "Photograph", "photograph_folder", "photographs"]

SECONDS = 18.0
"""Long enough for a few hundred looks at what the workers execute."""


def photographs() -> list[Photograph]:
    return photograph_files(Path(tempfile.gettempdir()) / "underfed-photographs")


def photograph_folder() -> Path:
    """With a folder for each class."""
    return photographs()[0].path.parents[1]
