"""Schemathesis asks every operation of the API for what its description allows and forbids, and finds nothing.

What the bounds of each value are is asked in ``make test``, too (``api/test_described_answers.py``).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.hostile.conftest import TOKEN, Victim
from tests.app.hostile.fuzzing import ask_everything
from tests.app.made_windows import made_stream, posted
from tests.app.operations.asking import lines_of

SEED = 1
"""What is asked is the same each time: whether a change is right must not be a matter of luck."""


TOKENS = {"with a token": TOKEN, "without": None}
EXAMPLES = 250
"""Of each operation, beside those that cover what its description allows."""


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("databases", ["sqlite", "postgresql"], indirect=True)
def test_nothing_is_found_that_the_description_does_not_say(victim: Victim, tmp_path: Path, token: str) -> None:
    for run_id in ("0", "A", "run-1"):
        for window in made_stream(3, run_id=run_id):
            assert victim.ask("/api/v1/ingest", posted(window)).status == 200
    found = ask_everything(victim.address, tmp_path, seed=SEED, examples=EXAMPLES, token=TOKENS[token])
    assert found.returncode == 0, found.stdout
    assert " passed" in found.stdout
    failed = [line for line in lines_of(victim.log) if line["level"] == "error"]
    assert failed == []
