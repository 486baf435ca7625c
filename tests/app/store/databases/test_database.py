"""Which databases ``--db`` may name, and how messages name them."""

from __future__ import annotations

from pathlib import Path

import pytest

from underfed_server.errors import SettingsError
from underfed_server.store.databases.database import name_of


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("underfed.db", "SQLAlchemy URL"),
        ("sqlite://", "name a file"),
        ("sqlite:///:memory:", "name a file"),
        ("sqlite:///a.db?mode=ro", "name a file"),
        ("mysql:///x", "not in mysql"),
        ("postgresql://host/db", r"postgresql\+psycopg://"),
        ("postgresql+asyncpg://host/db", r"postgresql\+psycopg://"),
        ("postgresql+psycopg://host", "name a database"),
    ],
)
def test_a_database_that_cannot_be_used_is_refused_with_what_could_be(url: str, said: str) -> None:
    with pytest.raises(SettingsError, match=rf"--db.*{said}"):
        name_of(url)


def test_a_relative_file_is_taken_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert name_of("sqlite:///data/u.db") == str(tmp_path / "data" / "u.db")
    assert name_of("sqlite:////var/u.db") == "/var/u.db"


def test_a_password_is_never_shown() -> None:
    assert name_of("postgresql+psycopg://me:secret@host/runs") == "postgresql+psycopg://me:***@host/runs"
