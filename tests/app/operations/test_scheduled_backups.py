"""``serve --backup-every``: copies on time, the oldest give way, and a new service starts on one with the same runs."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from tests.app.made_windows import SOON_JUDGED, made_stream
from tests.app.operations.asking import ask, pour, scraped
from tests.app.operations.running import running
from tests.app.serving import poll
from underfed_server.counters import Counters
from underfed_server.errors import SettingsError
from underfed_server.settings import Backups, read_settings
from underfed_server.store.store import Store
from underfed_server.store.upkeep.scheduled_backups import ScheduledBackups

RUNS = ("run-a", "run-b", "run-c")
READ = [
    "/api/v1/runs",
    *(f"/api/v1/runs/{run}" for run in RUNS),
    *(f"/api/v1/runs/{run}/series?metric=step_us&buckets=10" for run in RUNS),
    *(f"/api/v1/runs/{run}/export?format=csv" for run in RUNS),
]


def answers(address: str) -> dict[str, bytes]:
    """What does not change while nothing is sent."""
    return {path: ask(address, path).body for path in READ if "/export" in path or "/series" in path}


def test_a_service_backs_itself_up_and_another_starts_on_the_copy_with_the_same_runs(tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with running(first) as service:
        for run in RUNS:
            assert pour(service.address, made_stream(30, run_id=run, **SOON_JUDGED))[2].status == 200
        before = answers(service.address)
    # Due at the start: there is no copy yet.
    with running(first, "--backup-every", "1h", "--backup-dir", str(copies)) as service:
        poll(lambda: list(copies.glob("*.db")))
        assert time.time() - scraped(service.address)["underfed_backup_timestamp_seconds"][()] < 600
        assert scraped(service.address)["underfed_backup_failures_total"] == {(): 0.0}
    (copy,) = copies.iterdir()
    shutil.copy(copy, second / "underfed.db")
    with running(second) as restored:
        assert answers(restored.address) == before
        assert {run["run_id"] for run in ask(restored.address, "/api/v1/runs").json["runs"]} == set(RUNS)
        assert pour(restored.address, made_stream(3, run_id="run-d", **SOON_JUDGED))[2].status == 200


@pytest.fixture
def database(tmp_path: Path) -> Path:
    file = tmp_path / "underfed.db"
    Store(f"sqlite:///{file}").close()
    return file


def backups(database: Path, counters: Counters, *, every_s: float = 3_600.0, keep: int = 2) -> ScheduledBackups:
    return ScheduledBackups(database, Backups(every_s, database.parent / "copies", keep), counters)


def aged(copies: Path, name: str, age_s: float) -> None:
    copies.mkdir(exist_ok=True)
    (copies / name).write_bytes(b"")
    os.utime(copies / name, (time.time() - age_s,) * 2)


def test_a_restart_neither_skips_a_copy_nor_makes_one_more(database: Path) -> None:
    copies = database.parent / "copies"
    aged(copies, "underfed-2026-11-20T000000Z.db", 1_000.0)
    rest_s = backups(database, Counters())._work()
    assert len(list(copies.iterdir())) == 1
    assert 2_500 < rest_s <= 2_600
    aged(copies, "underfed-2026-11-20T000000Z.db", 3_601.0)
    assert backups(database, Counters())._work() == 3_600.0
    assert len(list(copies.iterdir())) == 2


def test_the_newest_are_kept_and_what_broke_off_is_removed(database: Path) -> None:
    copies = database.parent / "copies"
    for number in range(5):
        aged(copies, f"underfed-2026-11-1{number}T000000Z.db", 1e6 - number)
    aged(copies, "underfed-2026-11-19T000000Z.db.partial", 9e5)
    aged(copies, "somebody-elses.db", 9e9)
    backups(database, Counters())._work()
    left = sorted(path.name for path in copies.iterdir())
    assert left[:2] == ["somebody-elses.db", "underfed-2026-11-14T000000Z.db"]
    assert len(left) == 3


def test_a_copy_that_fails_is_counted_logged_and_tried_again(database: Path, caplog: pytest.LogCaptureFixture) -> None:
    counters = Counters()
    (database.parent / "copies").write_text("no directory")
    rest_s = backups(database, counters)._work()
    assert rest_s == 600.0
    assert counters.backup_failures._value.get() == 1
    assert "could not be backed up" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--backup-every", "5"], "--backup-every must be"),
        (["--backup-every", "1d", "--backup-keep", "0"], "--backup-keep must be"),
        (["--backup-every", "1d", "--db", "postgresql+psycopg://x@y/z"], "--backup-every is for SQLite"),
    ],
)
def test_what_cannot_be_is_refused_at_the_start(arguments: list[str], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        read_settings(arguments, {})


def test_settings_name_the_interval_the_place_and_how_many(tmp_path: Path) -> None:
    read = read_settings(["--backup-every", "12h"], {"UNDERFED_DIR": str(tmp_path)}).backups
    assert read == Backups(12 * 3_600.0, tmp_path / "backups", 7)
    assert read_settings([], {"UNDERFED_BACKUP_EVERY": "1d", "UNDERFED_BACKUP_DIR": "/b"}).backups == Backups(
        86_400.0, Path("/b"), 7
    )
    assert read_settings([], {}).backups is None
