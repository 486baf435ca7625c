"""Schemathesis asks every operation of the API for what its description allows and forbids, and finds nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.hostile.conftest import TOKEN, Victim
from tests.app.made_windows import made_stream, posted
from tests.app.operations.asking import lines_of

SEED = 1
"""What is asked is the same each time: whether a change is right must not be a matter of luck."""

# No schema can say that an expiry must lie ahead, that a cursor must be one of ours, or how a search is written.
# The event stream has no end to wait for.
ARGUMENTS = ("--exclude-checks", "positive_data_acceptance", "--exclude-path", "/api/v1/events")


@pytest.mark.parametrize("examples", [3, pytest.param(250, marks=[pytest.mark.soak, pytest.mark.timeout(3_600)])])
def test_nothing_is_found_that_the_description_does_not_say(victim: Victim, tmp_path: Path, examples: int) -> None:
    """``examples``: of each operation, beside those that cover what its description allows and forbids."""
    for run_id in ("0", "A", "run-1"):
        for window in made_stream(3, run_id=run_id):
            assert victim.ask("/api/v1/ingest", posted(window)).status == 200
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{victim.address}/api/v1/openapi.json", *ARGUMENTS]
    command += ["-H", f"Authorization: Bearer {TOKEN}", "-n", str(examples), "--phases", "coverage,fuzzing"]
    command += ["--seed", str(SEED), "--no-color"]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert found.returncode == 0, found.stdout
    assert " passed" in found.stdout
    failed = [line for line in lines_of(victim.log) if line["level"] == "error"]
    assert failed == []
