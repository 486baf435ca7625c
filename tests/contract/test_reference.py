"""The list of causes and changes in the documentation is that of the service."""

from __future__ import annotations

from pathlib import Path

from underfed_server.reference import reference

COMMITTED = Path(__file__).parents[2] / "docs" / "causes.md"


def test_the_committed_reference_is_up_to_date() -> None:
    assert COMMITTED.read_text() == reference(), (
        "causes or changes have changed; run `.venv/bin/python -m underfed_server.reference > docs/causes.md`"
    )
