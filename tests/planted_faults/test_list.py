"""The list of planted faults fits the code as it is now."""

from __future__ import annotations

from tests.planted_faults.every import PARTS
from tests.planted_faults.fault import ROOT, Fault, occurrences

FAULTS = [fault for faults in PARTS.values() for fault in faults]


def test_what_a_fault_replaces_stands_once_in_its_file() -> None:
    """Otherwise the code moved or changed: give the fault its new ``file`` and ``old``, or another like it."""
    assert {(fault.id, fault.file): count for fault in FAULTS if (count := occurrences(fault)) != 1} == {}


def test_the_tests_that_should_notice_a_fault_are_there() -> None:
    assert [(fault.id, path) for fault in FAULTS for path in missing_tests(fault)] == []


def test_every_fault_is_another_and_changes_something() -> None:
    assert len({fault.id for fault in FAULTS}) == len(FAULTS)
    assert len({(fault.file, fault.old, fault.new) for fault in FAULTS}) == len(FAULTS)
    assert [fault.id for fault in FAULTS if fault.old == fault.new] == []


def missing_tests(fault: Fault) -> list[str]:
    return [path for path in (*fault.tests, *fault.wider) if not is_there(path)]


def is_there(test: str) -> bool:
    """A file or folder, or with ``::`` a test in one."""
    path, _, name = test.partition("::")
    return (ROOT / path).exists() and (not name or f"def {name}(" in (ROOT / path).read_text())
