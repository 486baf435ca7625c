"""The steps from nothing to the tables of this version, and what a file from the future is told.

``databases/`` has a file that the service of each earlier schema wrote: run ``run-1``, 15 windows of 20 steps in a
chunk and 5 still hot, and its diagnosis. The wait of step n is 20,000 + n µs, its batch loads in 30,000 + n µs. From
0002 on it has two workers' lives, a place where its data lies, and the start of an epoch.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from tests.app.made_windows import RUN, made_stream, made_window
from tests.app.store.posting import post
from underfed_server.diagnose import Diagnoser
from underfed_server.errors import StartError
from underfed_server.store.columns.ladder import STALL
from underfed_server.store.databases.schema import upgrade
from underfed_server.store.databases.sqlite import open_writer
from underfed_server.store.databases.tables import metadata
from underfed_server.store.reading.series import read_series
from underfed_server.store.store import Store

DATABASES = Path(__file__).with_name("written")


def test_all_steps_together_make_exactly_the_tables_that_the_code_uses(tmp_path: Path) -> None:
    engine = open_writer(tmp_path / "underfed.db")
    upgrade(engine)
    with engine.begin() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        made = set(inspect(connection).get_table_names())
    assert made - {"alembic_version"} == set(metadata.tables)
    engine.dispose()


def written_by(schema: str, directory: Path) -> Path:
    database = directory / "underfed.db"
    database.write_bytes(gzip.decompress((DATABASES / f"{schema}.db.gz").read_bytes()))
    return database


@pytest.fixture
def written_by_0001(tmp_path: Path) -> Path:
    return written_by("0001", tmp_path)


def test_a_file_of_the_first_schema_is_read_whole_after_its_upgrade(written_by_0001: Path) -> None:
    store = Store(f"sqlite:///{written_by_0001}")
    steps, batches = store.steps("run-1", 0, "train"), store.batches("run-1", 0, "train")
    assert steps.data_wait_us.tolist() == [20_000 + step for step in range(400)]
    assert batches.load_us.tolist() == [30_000 + step for step in range(400)]
    assert store.process("run-1", 0).rss_bytes.tolist() == [1_000_000 + window for window in range(20)]
    for column in (steps.sampler_us, steps.gpu_work_us, batches.pin_us, store.host("run-1", 0).memory_used_bytes):
        assert np.isnan(column).all(), "what that service did not know was not measured"
    run = store.run("run-1")
    assert (run.name, run.started_by, run.launcher, run.restart_count) == ("old", "watch", None, None)
    assert (run.storage, run.died_workers, run.epochs[0].sampler_us) == ([], [], None)
    assert (run.hosts[0].cpu_count, run.hosts[0].numa_nodes) == (8, None)
    assert store.workers("run-1", 0, "train") == []
    store.close()


def test_a_file_of_the_first_schema_is_judged_and_written_on(written_by_0001: Path) -> None:
    store = Store(f"sqlite:///{written_by_0001}")
    before = store.diagnosis("run-1")
    assert before is not None and before.anatomy is not None
    assert (before.bound, before.anatomy.sampler_us) == ("data", None)
    post(store, list(made_stream(22))[20:])
    Diagnoser()(store, "run-1")
    after = store.diagnosis("run-1")
    assert after is not None and after.steps == 440
    assert [each.worker for each in store.workers("run-1", 0, "train")] == [0, 1]
    with store.reading() as reader:
        started_at = store.run("run-1").started_at
        names = ["data_wait_us", "sampler_us", STALL]
        rollup = read_series(reader, "run-1", 0, "steps:train", started_at, names=names, buckets=4)
    assert rollup is not None
    assert rollup.stats["data_wait_us"].count.sum() == rollup.stats[STALL].count.sum() == 440
    assert rollup.stats["sampler_us"].count.sum() == 40
    store.close()


def test_a_file_of_the_second_schema_is_read_whole_and_written_on(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{written_by('0002', tmp_path)}")
    assert store.steps("run-1", 0, "train").data_wait_us.tolist() == [20_000 + step for step in range(400)]
    before = store.run("run-1")
    assert (before.name, before.launcher, before.advice_of, before.replay) == ("old", "torchrun", "run-0", None)
    assert (before.storage[0].kind, before.epochs[0].sampler_us) == ("nvme", 3)
    assert [each.lives[0].pid for each in store.workers("run-1", 0, "train")] == [100, 101]
    assert (before.loaders[0].shards, before.loaders[0].repeated_batches) == (None, None)
    replay = {"batches": 20, "real_steps_per_s": 2.5, "instant_steps_per_s": 10.0}
    post(store, [made_window(20, run={**RUN, "replay": replay})])
    told = store.run("run-1").replay
    assert told is not None and told.model_dump() == replay
    store.close()


def test_upgrading_twice_changes_nothing(tmp_path: Path) -> None:
    engine = open_writer(tmp_path / "underfed.db")
    upgrade(engine)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO project (project) VALUES ('vision')"))
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
