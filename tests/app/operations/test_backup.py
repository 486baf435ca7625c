"""``underfed backup``: a copy made while windows pour in is a database that a service starts on."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.made_windows import SOON_JUDGED, made_stream
from tests.app.operations.asking import ask, pour, send
from tests.app.operations.damaging import damage, written
from tests.app.operations.running import Running, running
from tests.app.serving import IMPORTED
from tests.fakes import forkserver
from tests.fakes.environment import clean_environment
from underfed_server.backup import backup
from underfed_server.errors import BackupError
from underfed_server.store.databases import sqlite_backup as backing_up
from underfed_server.store.databases.sqlite_backup import back_up


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("service")) as started:
        yield started


class Posting(threading.Thread):
    """Posts a stream until it is stopped."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.acknowledged = 0
        self.has_begun, self.is_over = threading.Event(), threading.Event()
        self._address = address

    def run(self) -> None:
        for window in made_stream(100_000, **SOON_JUDGED):
            if self.is_over.is_set():
                return
            assert send(self._address, window).status == 200
            self.acknowledged += 1
            if self.acknowledged == 100:
                self.has_begun.set()


def steps_of(address: str) -> int:
    answer = ask(address, "/api/v1/runs/run-1/series?metric=step_us&buckets=1")
    return int(sum(answer.json["series"][0]["count"]))


def test_a_copy_made_while_windows_pour_in_is_one_that_a_service_starts_on(service: Running, tmp_path: Path) -> None:
    posting = Posting(service.address)
    posting.start()
    assert posting.has_begun.wait(60)
    before, target = posting.acknowledged, tmp_path / "copy" / "underfed.db"
    target.parent.mkdir()
    command = [
        forkserver.python(IMPORTED),
        "-m",
        "underfed.commands.cli",
        "backup",
        str(target),
        "--db",
        f"sqlite:///{service.database}",
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=clean_environment())
    during = posting.acknowledged
    posting.is_over.set()
    posting.join()
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == f"{target}: {target.stat().st_size:,} bytes of {service.database}, checked\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [path.name for path in target.parent.iterdir()] == ["underfed.db"]
    with running(target.parent) as copy:
        assert before * 20 <= steps_of(copy.address) <= (during + 1) * 20
    assert steps_of(service.address) == posting.acknowledged * 20


def test_a_copy_is_of_one_moment_even_when_it_takes_many_steps(
    service: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    windows = list(made_stream(60, run_id="run-2"))
    pour(service.address, windows[:30])
    monkeypatch.setattr(backing_up, "PAGES", 1)
    coming = iter(windows[30:])
    fractions: list[float] = []

    def progress(fraction: float) -> None:
        fractions.append(fraction)
        if (window := next(coming, None)) is not None:
            send(service.address, window)

    target = tmp_path / "copy.db"
    back_up(service.database, target, progress)
    assert fractions == sorted(fractions), "it began anew"
    assert fractions[-1] == 1.0
    with sqlite3.connect(target) as copy:
        # The number of its windows is that of the moment at which it began.
        newest = copy.execute("SELECT last_window_index FROM stream WHERE run_id = 'run-2'")
        assert newest.fetchone() == (29,)
    copy.close()


def test_nothing_is_overwritten(service: Running, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "mine.db"
    target.write_text("precious")
    assert backup([str(target), "--db", f"sqlite:///{service.database}"]) == 1
    assert "exists; back-ups are not overwritten" in capsys.readouterr().err
    assert target.read_text() == "precious"


def test_a_second_one_at_once_is_refused_because_of_the_first(service: Running, tmp_path: Path) -> None:
    (tmp_path / "mine.db.partial").touch()
    with pytest.raises(BackupError, match="another back-up runs, or one broke off"):
        back_up(service.database, tmp_path / "mine.db")
    assert (tmp_path / "mine.db.partial").exists()


def test_a_damaged_database_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / "service").mkdir()
    database = written(tmp_path / "service")
    damage(database, "chunk")
    with pytest.raises(BackupError, match=r"is damaged|malformed"):
        back_up(database, tmp_path / "copy.db")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("copy")) == []


def test_a_copy_that_cannot_be_finished_leaves_nothing(service: Running, tmp_path: Path) -> None:
    def stop(fraction: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        back_up(service.database, tmp_path / "copy.db", stop)
    with pytest.raises(BackupError, match="cannot be written"):
        back_up(service.database, tmp_path / "nowhere" / "copy.db")
    with pytest.raises(BackupError, match="there is no database"):
        back_up(tmp_path / "other.db", tmp_path / "copy.db")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("copy")] == []


def test_postgresql_is_left_to_its_own_means(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert backup([str(tmp_path / "copy.db"), "--db", "postgresql+psycopg://me:s3cret@db/underfed"]) == 1
    said = capsys.readouterr().err
    assert "pg_dump" in said
    assert "s3cret" not in said
