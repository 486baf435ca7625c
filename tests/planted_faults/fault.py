"""A planted fault: one realistic slip in one place of the product, and the tests that should notice it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Fault:
    """``old`` occurs exactly once in ``file``; with ``new`` there the product is wrong in the way that ``id`` says."""

    id: str
    file: str
    """From the root of the repository, as the paths of tests are."""
    old: str
    new: str
    tests: tuple[str, ...]
    """The nearest ones: they should fail. Files, or with ``::`` single tests."""
    wider: tuple[str, ...] = ()
    """Run where the nearest do not fail, before the fault is called escaped."""
    on_postgresql: bool = False
    """Only one of the two databases shows it; else SQLite is quicker to ask."""
    escapes_before: bool = False
    """No test noticed it when it was first planted; the test that does so now was written for it."""


def occurrences(fault: Fault, root: Path = ROOT) -> int:
    """How often ``old`` stands in its file; 0 also where there is no such file."""
    path = root / fault.file
    return path.read_text().count(fault.old) if path.is_file() else 0
