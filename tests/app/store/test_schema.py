"""The steps from nothing to the tables of this version, and what a file from the future is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from underfed_server.errors import StartError
from underfed_server.store.engine import open_writer
from underfed_server.store.schema import upgrade
from underfed_server.store.store import Store
from underfed_server.store.tables import metadata


def test_all_steps_together_make_exactly_the_tables_that_the_code_uses(tmp_path: Path) -> None:
    engine = open_writer(tmp_path / "underfed.db")
    upgrade(engine)
    with engine.begin() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        made = set(inspect(connection).get_table_names())
    assert made - {"alembic_version"} == set(metadata.tables)
    engine.dispose()


def test_upgrading_twice_changes_nothing(tmp_path: Path) -> None:
    engine = open_writer(tmp_path / "underfed.db")
    upgrade(engine)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO token VALUES (x'00', 1)"))
    upgrade(engine)
    with engine.begin() as connection:
        assert connection.execute(text("SELECT count(*) FROM token")).scalar() == 1
    engine.dispose()


def test_a_file_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    database = tmp_path / "underfed.db"
    Store(database).close()
    engine = open_writer(database)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StartError, match="newer version of underfed"):
        Store(database)
    with engine.begin() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "9999"
    engine.dispose()


def test_a_step_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    engine = open_writer(tmp_path / "underfed.db")
    with engine.begin() as connection:
        # Stands in the way of the first step, in the middle of it.
        connection.execute(text("CREATE TABLE loader (x)"))
    with pytest.raises(Exception, match="loader already exists"):
        upgrade(engine)
    with engine.begin() as connection:
        assert inspect(connection).get_table_names() == ["loader"]
    engine.dispose()
