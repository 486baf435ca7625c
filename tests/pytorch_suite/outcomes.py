"""What became of each test of a pytest run, read from its JUnit XML, and how two runs differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

Outcomes = Mapping[str, str]
"""By ``Class::test``: ``passed``, ``failed``, ``error`` or ``skipped``."""

TAGS = {"failure": "failed", "error": "error", "skipped": "skipped"}


@dataclass(frozen=True, slots=True)
class Difference:
    """One test with two outcomes; ``None``: it is not in that run."""

    test: str
    bare: str | None
    recorded: str | None


def read_outcomes(report: Path) -> dict[str, str]:
    """
    Raises:
        OSError: there is no report; pytest did not come so far.
    """
    cases = ElementTree.parse(report).iter("testcase")
    return {test_name(case): next((TAGS[part.tag] for part in case if part.tag in TAGS), "passed") for case in cases}


def test_name(case: ElementTree.Element) -> str:
    return f"{case.attrib['classname'].rpartition('.')[2]}::{case.attrib['name']}"


def differences(bare: Outcomes, recorded: Outcomes) -> list[Difference]:
    tests = list(dict.fromkeys([*bare, *recorded]))
    pairs = [Difference(test, bare.get(test), recorded.get(test)) for test in tests]
    return [pair for pair in pairs if pair.bare != pair.recorded]


def summary(outcomes: Iterable[str]) -> str:
    """``154 passed, 5 failed, 23 skipped``."""
    counts = Counter(outcomes)
    return ", ".join(f"{counts[name]} {name}" for name in ("passed", "failed", "error", "skipped") if counts[name])
