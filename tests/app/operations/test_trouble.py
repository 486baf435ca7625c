"""A full disk, a read-only one, a damaged file: a sentence that says what to do, and nothing half-written."""

from __future__ import annotations

import math
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient

from tests.app.conftest import on_sqlite_alone
from tests.app.made_windows import made_stream, made_window, posted
from tests.app.operations.asking import JSON, ask, pour, send
from tests.app.operations.damaging import damage, overwrite, written
from tests.app.operations.running import refused, running
from tests.app.serving import poll, serving, settings_for
from tests.app.store.posting import post
from tests.fakes.postgresql import Cluster
from underfed_server.diagnose import Diagnoser
from underfed_server.forked.answering import judged
from underfed_server.main import Application, create_app
from underfed_server.store.databases import trouble
from underfed_server.store.store import Store

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 24 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


@needs_root
def test_a_full_disk_refuses_what_does_not_fit_keeps_what_did_and_goes_on_once_there_is_room(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # How long writes have succeeded must not depend on the speed of this machine.
    monkeypatch.setattr(trouble, "CALM_S", math.inf)
    settings, ballast = settings_for(small_disk), small_disk / "ballast"
    with serving(create_app(settings, partial(judged, Diagnoser())), settings) as address:
        ballast.write_bytes(bytes(18_500_000))
        windows = made_stream(3_000)
        taken, refused_window, answer = pour(address, windows)
        assert (answer.status, answer.code) == (503, "unavailable")
        assert "the disk is full; free some space" in answer.json["error"]["message"]
        assert int(answer.headers["retry-after"]) > 0
        ready = ask(address, "/readyz")
        assert ready.status == 503
        assert "the disk is full" in ready.json["error"]["message"]
        assert ask(address, "/healthz").status == 200
        # Reading goes on, and has what was acknowledged.
        series = ask(address, "/api/v1/runs/run-1/series?metric=step_us&buckets=1").json
        assert sum(series["series"][0]["count"]) == taken * 20
        # A place may be found for it meanwhile; it is stored once, however often it comes.
        assert {send(address, refused_window).status for _ in range(20)} <= {200, 503}
        monkeypatch.setattr(trouble, "CALM_S", 0.0)
        ballast.unlink()
        assert send(address, refused_window).status == 200
        assert pour(address, islice(windows, 50))[0] == 50
        poll(lambda: ask(address, "/readyz").status == 200)
    said = [record.getMessage() for record in caplog.records if "the database can" in record.getMessage()]
    assert {message.split(":")[0] for message in said[::2]} == {"the database cannot be written"}
    assert set(said[1::2]) == {"the database can be written again"}
    assert len(said) <= 4, "once each, however often it was tried"
    store = Store(settings.database_url)
    try:
        assert store.steps("run-1", 0, "train").step_index.tolist() == list(range((taken + 51) * 20))
        with store.reading() as reader:
            assert reader.connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    finally:
        store.close()


def set_read_only(store: Store, *, is_so: bool) -> None:
    """Like a disk that the kernel remounted read-only: SQLite reports it in the same words."""
    connection = store.database.writing.raw_connection()
    try:
        connection.cursor().execute(f"PRAGMA query_only={int(is_so)}")
    finally:
        connection.close()


@on_sqlite_alone
def test_a_disk_that_becomes_read_only_is_said_and_survived(application: Application) -> None:
    client, store = TestClient(application, base_url="http://127.0.0.1:7077"), application.parts.store
    assert client.get("/readyz").status_code == 200
    post(store, [made_window(0)])
    set_read_only(store, is_so=True)
    answer = client.post("/api/v1/ingest", content=posted(made_window(1)), headers=JSON)
    assert answer.status_code == 503
    assert "the file or its disk is read-only" in answer.json()["error"]["message"]
    ready = client.get("/readyz")
    assert ready.status_code == 503
    assert "read-only" in ready.json()["error"]["message"]
    assert client.get("/api/v1/runs/run-1").status_code == 200
    set_read_only(store, is_so=False)
    assert client.post("/api/v1/ingest", content=posted(made_window(1)), headers=JSON).status_code == 200
    poll(lambda: client.get("/readyz").status_code == 200)


@on_sqlite_alone
def test_an_unknown_token_cannot_be_looked_up_either(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OperationalError("SELECT", {}, sqlite3.OperationalError("disk I/O error"))

    # Before any route: the client is not identified yet.
    monkeypatch.setattr(application.parts.access, "of_secret", fail)
    client = TestClient(application, base_url="http://127.0.0.1:7077")
    for answer in (
        client.get("/api/v1/runs"),
        client.post("/api/v1/ingest", content=posted(made_window(0)), headers=JSON),
    ):
        assert answer.status_code == 503
        assert "the disk fails, or is full" in answer.json()["error"]["message"]
        assert answer.headers["x-request-id"]


@on_sqlite_alone
def test_a_thread_that_writes_and_has_ended_is_named_by_the_health_check(application: Application) -> None:
    client = TestClient(application, base_url="http://127.0.0.1:7077")
    application.parts.store._writer.close()
    ready = client.get("/readyz")
    assert ready.status_code == 503
    assert "the thread that writes has ended" in ready.json()["error"]["message"]


@pytest.fixture
def unwritable(tmp_path: Path) -> Iterator[Path]:
    """A directory that nothing can be written to; root may write to all but a disk that is read-only."""
    directory = tmp_path / "unwritable"
    directory.mkdir(mode=0o500)
    if os.geteuid() != 0:
        yield directory
        return
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", directory], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    yield directory
    subprocess.run(["umount", directory], check=True)


def test_a_directory_that_cannot_be_written_is_named(unwritable: Path) -> None:
    assert f"data cannot be kept in {unwritable}: " in refused(unwritable / "underfed.db")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("written"))


@pytest.fixture
def recorded(whole: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    (tmp_path / "data").mkdir()
    return Path(shutil.copy(whole, tmp_path / "data"))


def test_a_file_of_something_else_is_refused_with_what_to_do(recorded: Path) -> None:
    overwrite(recorded, 0, 100)
    said = refused(recorded)
    assert f"{recorded} cannot be used: file is not a database: " in said
    assert "if it was one, stop the service, put a back-up" in said


def test_a_file_that_lost_its_end_is_refused_with_what_to_do(recorded: Path) -> None:
    os.truncate(recorded, recorded.stat().st_size // 4096 // 2 * 4096)
    before = recorded.read_bytes()
    assert f"{recorded} cannot be used: the file is damaged" in refused(recorded)
    assert recorded.read_bytes() == before, "it is left as it was found"


def test_a_file_without_its_first_tables_is_refused_with_what_to_do(recorded: Path) -> None:
    overwrite(recorded, 4096, 20 * 4096)
    assert f"{recorded} cannot be used: the file is damaged" in refused(recorded)


def test_damage_that_shows_while_it_serves_is_said_and_hides_nothing_else(recorded: Path) -> None:
    damage(recorded, "chunk")
    with running(recorded.parent) as service:
        answer = ask(service.address, "/api/v1/runs/run-1/series?metric=step_us&buckets=1000")
        assert (answer.status, answer.code) == (503, "unavailable")
        assert "the file is damaged: stop the service, put a back-up" in answer.json["error"]["message"]
        assert ask(service.address, "/api/v1/runs").status == 200
        assert send(service.address, made_window(0, run_id="run-2")).status == 200
        service.stop()
    assert "Traceback" not in service.log.read_text()


def test_what_cannot_be_written_into_a_damaged_file_is_refused_and_the_service_lives(recorded: Path) -> None:
    damage(recorded, "hot")
    with running(recorded.parent) as service:
        answer = send(service.address, made_window(0, run_id="run-2"))
        assert (answer.status, answer.code) == (503, "unavailable")
        assert "the file is damaged: stop the service, put a back-up" in answer.json["error"]["message"]
        assert ask(service.address, "/readyz").status == 503
        assert ask(service.address, "/api/v1/runs").status == 200
        service.stop()
    assert "Traceback" not in service.log.read_text()


def seconds_to_stop_without_a_server(tmp_path: Path) -> float:
    """After it went away once and came back, which is said and waited for."""
    windows = list(made_stream(5))
    with Cluster() as cluster:
        url = cluster.url.render_as_string(hide_password=False)
        with running(tmp_path, "--db", url) as service:
            assert [send(service.address, window).status for window in windows[:3]] == [200] * 3
            cluster.kill()
            for answer in (
                send(service.address, windows[3]),
                ask(service.address, "/api/v1/runs"),
                ask(service.address, "/readyz"),
                ask(service.address, "/metrics"),
            ):
                assert (answer.status, answer.code) == (503, "unavailable"), answer.body
                assert "database server" in answer.json["error"]["message"]
            assert ask(service.address, "/healthz").status == 200
            cluster.start()
            poll(lambda: send(service.address, windows[3]).status == 200)
            assert send(service.address, windows[4]).status == 200
            poll(lambda: ask(service.address, "/readyz").status == 200)
            series = ask(service.address, "/api/v1/runs/run-1/series?metric=step_us&buckets=1").json
            assert sum(series["series"][0]["count"]) == 5 * 20
            cluster.kill()
            assert send(service.address, made_window(5)).status == 503
            took = service.stop()
            cluster.start()
    assert "Traceback" not in service.log.read_text()
    return took


def test_a_database_server_that_goes_away_is_said_and_waited_for(tmp_path: Path) -> None:
    seconds_to_stop_without_a_server(tmp_path)


@pytest.mark.soak
def test_a_service_whose_database_server_is_gone_stops_within_three_seconds(tmp_path: Path) -> None:
    assert seconds_to_stop_without_a_server(tmp_path) < 3
