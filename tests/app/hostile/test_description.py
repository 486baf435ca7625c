"""Schemathesis asks every operation of the API for what its description allows and forbids, and finds nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.hostile.conftest import TOKEN, Victim
from tests.app.hostile.fuzzing import ask_everything
from tests.app.made_windows import made_stream, posted
from tests.app.operations.asking import lines_of

pytestmark = pytest.mark.long

SEED = 1
"""What is asked is the same each time: whether a change is right must not be a matter of luck."""


TOKENS = {"with a token": TOKEN, "without": None}
FEW = [("postgresql", "with a token", 1, "coverage")]
"""Without a token every request is refused before it is looked at: ``api/test_required_scopes.py`` asks so."""
MANY = [
    pytest.param(database, token, 250, "coverage,fuzzing", marks=[pytest.mark.soak, pytest.mark.timeout(3_600)])
    for database in ("sqlite", "postgresql")
    for token in TOKENS
]


@pytest.mark.parametrize(("databases", "token", "examples", "phases"), [*FEW, *MANY], indirect=["databases"])
def test_nothing_is_found_that_the_description_does_not_say(
    victim: Victim, tmp_path: Path, token: str, examples: int, phases: str
) -> None:
    """``examples``: of each operation; ``coverage`` asks those beside that cover what its description allows."""
    for run_id in ("0", "A", "run-1"):
        for window in made_stream(3, run_id=run_id):
            assert victim.ask("/api/v1/ingest", posted(window)).status == 200
    found = ask_everything(victim.address, tmp_path, seed=SEED, examples=examples, token=TOKENS[token], phases=phases)
    assert found.returncode == 0, found.stdout
    assert " passed" in found.stdout
    failed = [line for line in lines_of(victim.log) if line["level"] == "error"]
    assert failed == []
