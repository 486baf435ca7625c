"""The runner of PyTorch's suite is trusted because it reports, of files made for it, what it should."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.fakes.jobs import run_python
from tests.pytorch_suite.outcomes import Difference, differences, read_outcomes, summary

DRAWS = """
from torch.utils.data import DataLoader

def test_draws():
    assert len(list(DataLoader(range(8), num_workers=1))) == 8
"""

DIFFERS = """
import os
import pytest

def test_is_the_same():
    pass

def test_is_skipped():
    pytest.skip()

def test_sees_the_agent():
    assert "UNDERFED_DISABLED" in os.environ

@pytest.fixture
def broken():
    raise ValueError

def test_is_broken(broken):
    pass
"""


def run_suite(directory: Path, content: str) -> subprocess.CompletedProcess[str]:
    file = directory / "test_made.py"
    file.write_text(content)
    return run_python("-m", "tests.pytorch_suite", str(file), "--reports", str(directory), "--repetitions", "1")


@pytest.mark.soak(passes=1, of=1)
def test_a_file_that_sees_no_difference_passes_and_its_loaders_are_recorded(tmp_path: Path) -> None:
    done = run_suite(tmp_path, DRAWS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "recorded: 8 steps and 8 loaded batches in 1 processes, 0 failures" in done.stdout
    assert "different: 0 of 1" in done.stdout


@pytest.mark.soak(passes=1, of=1)
def test_a_test_that_notices_the_agent_is_named_and_so_is_the_lack_of_records(tmp_path: Path) -> None:
    done = run_suite(tmp_path, DIFFERS)
    assert done.returncode == 1
    assert "without: 2 passed, 1 error, 1 skipped" in done.stdout
    assert "different: 1 of 4" in done.stdout
    assert "test_made::test_sees_the_agent: passed without, failed with" in done.stdout
    assert "again, 1 times: passed without, failed with" in done.stdout
    assert "recorded: nothing" in done.stdout


def test_outcomes_are_read_by_class_and_name(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="test_x.TestA" name="test_1"/>'
        '<testcase classname="test_x.TestA" name="test_2"><failure/></testcase>'
        '<testcase classname="test_x.TestB" name="test_2"><skipped/></testcase></testsuite></testsuites>'
    )
    outcomes = read_outcomes(report)
    assert outcomes == {"TestA::test_1": "passed", "TestA::test_2": "failed", "TestB::test_2": "skipped"}
    assert summary(outcomes.values()) == "1 passed, 1 failed, 1 skipped"


def test_a_test_that_is_missing_in_one_run_is_a_difference() -> None:
    assert differences({"a": "passed", "b": "failed"}, {"a": "passed"}) == [Difference("b", "failed", None)]
