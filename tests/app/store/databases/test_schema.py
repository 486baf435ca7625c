"""Databases are created with today's tables, migrated from every earlier schema, and refused where they are unknown.

``first_schema.sql`` is the first revision as SQLite describes it: what migrations begin from.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from underfed_server.errors import StartError
from underfed_server.store.databases.schema import upgrade
from underfed_server.store.databases.sqlite import open_writer
from underfed_server.store.databases.tables import metadata
from underfed_server.store.store import Store

FIRST_SCHEMA = Path(__file__).with_name("first_schema.sql")


@pytest.mark.parametrize("is_new", [True, False], ids=["created", "migrated from the first schema"])
def test_a_database_has_exactly_the_tables_that_the_code_uses(tmp_path: Path, is_new: bool) -> None:
    engine = open_writer(tmp_path / "underfed.db")
    if not is_new:
        with engine.begin() as connection:
            for statement in FIRST_SCHEMA.read_text().split(";\n"):
                connection.exec_driver_sql(statement)
    upgrade(engine)
    with engine.begin() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        made = set(inspect(connection).get_table_names())
    assert made - {"alembic_version"} == set(metadata.tables)
    engine.dispose()


def test_a_database_of_this_version_is_not_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_writer(tmp_path / "underfed.db")
    upgrade(engine)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO project (project) VALUES ('vision')"))
    monkeypatch.setattr(command, "upgrade", lambda *_: pytest.fail("migrations are read"))
    upgrade(engine)
    with engine.begin() as connection:
        assert connection.execute(text("SELECT count(*) FROM project")).scalar() == 1
    engine.dispose()


def test_a_file_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    database = tmp_path / "underfed.db"
    Store(f"sqlite:///{database}").close()
    engine = open_writer(database)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StartError, match="newer version of underfed"):
        Store(f"sqlite:///{database}")
    with engine.begin() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "9999"
    engine.dispose()


def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    engine = open_writer(tmp_path / "underfed.db")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE loader (x)"))
    with pytest.raises(StartError, match="tables of another program"):
        upgrade(engine)
    with engine.begin() as connection:
        assert inspect(connection).get_table_names() == ["loader"]
    engine.dispose()


def test_a_migration_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    engine = open_writer(tmp_path / "underfed.db")
    with engine.begin() as connection:
        # Stands in the way, in the middle of the tables.
        connection.execute(text("CREATE VIEW tag AS SELECT 1"))
    with pytest.raises(Exception, match="tag already exists"):
        upgrade(engine)
    with engine.begin() as connection:
        assert inspect(connection).get_table_names() == []
    engine.dispose()
