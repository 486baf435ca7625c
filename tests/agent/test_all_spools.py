"""All spools of a user together: bounded, none grows old, and what was removed for that is counted and reported."""

from __future__ import annotations

import errno
import os
import platform
import time
from io import FileIO
from pathlib import Path

import pytest

from underfed.collector.spool.all_spools import TOO_MUCH, TOO_OLD, AllSpools, Removed, size_of, take_removed
from underfed.collector.spool.segment import Label, count_frames
from underfed.collector.spool.spool import Spool
from underfed.collector.spool.spool_directory import segments_in, spool_directory
from underfed.errors import ConfigError
from underfed.exchange.config import SPOOL_DAYS, SpoolLimits, read_config, read_spool_limits
from underfed.host.lock import locked

KIB = 1 << 10


def keep(data: Path, run: str, windows: int, *, others: AllSpools | None = None, host: str = "") -> Path:
    """A run that kept so many windows of a KiB and ended."""
    directory = spool_directory(data, run, host or platform.node())
    spool = Spool(directory, others=others)
    for index in range(windows):
        spool.append(Label("0-1", index, index - 1 if index else None, {}), os.urandom(KIB))
    for segment in spool._segments:
        segment.close()
    return directory


def age(directory: Path, days: float) -> None:
    for path in [directory, *directory.rglob("*")]:
        os.utime(path, (time.time() - days * 86_400,) * 2)


def limits(kib: int) -> SpoolLimits:
    return SpoolLimits(kib * KIB)


def test_the_oldest_ended_runs_make_room_and_are_counted(tmp_path: Path) -> None:
    old, newer = keep(tmp_path, "old", 30), keep(tmp_path, "newer", 30)
    age(old, 2)
    age(newer, 1)
    spools = AllSpools(tmp_path, limits(64))
    assert spools.make_room(20 * KIB, tmp_path / "own") == 0
    assert (old.exists(), newer.exists()) == (False, True)
    assert take_removed(tmp_path) == [Removed(old.name, 30, TOO_MUCH)]
    assert take_removed(tmp_path) == []


def test_a_run_that_goes_on_keeps_its_own(tmp_path: Path) -> None:
    going = keep(tmp_path, "going", 30)
    age(going, 3)
    ended = keep(tmp_path, "ended", 30)
    spools = AllSpools(tmp_path, limits(40))
    with locked(going):
        assert spools.make_room(0, tmp_path / "own") == 0
        assert (going.exists(), ended.exists()) == (True, False)
        assert spools.make_room(20 * KIB, going) > 0


def test_another_hosts_spool_may_be_in_use_for_a_day(tmp_path: Path) -> None:
    theirs = keep(tmp_path, "theirs", 30, host="another")
    spools = AllSpools(tmp_path, limits(1))
    assert spools.make_room(0, tmp_path / "own") > 0
    age(theirs, 1.1)
    assert spools.make_room(0, tmp_path / "own") == 0
    assert not theirs.exists()


@pytest.mark.parametrize("runs", [1, 5])
def test_however_many_runs_there_are_together_they_stay_below_the_bound(tmp_path: Path, runs: int) -> None:
    others = AllSpools(tmp_path, limits(320))
    for run in range(runs):
        keep(tmp_path, f"run-{run}", 300 if runs == 1 else 100, others=others)
        assert size_of(tmp_path / "spool") < 320 * KIB
    kept = sum(count_frames(path) for path in (tmp_path / "spool").glob("*/*.segment"))
    removed = sum(each.windows for each in take_removed(tmp_path))
    assert kept + removed + dropped_by(tmp_path) == (300 if runs == 1 else 500)
    assert kept >= 200


def dropped_by(data: Path) -> int:
    return sum(Spool(directory).dropped.total() for directory in (data / "spool").iterdir())


def test_what_no_service_took_is_not_kept_for_ever(tmp_path: Path) -> None:
    old, young = keep(tmp_path, "old", 3), keep(tmp_path, "young", 3)
    age(old, SPOOL_DAYS + 1)
    AllSpools(tmp_path, SpoolLimits()).remove_old()
    assert (old.exists(), young.exists()) == (False, True)
    assert take_removed(tmp_path) == [Removed(old.name, 3, TOO_OLD)]


def test_an_absent_or_unreadable_directory_is_no_error(tmp_path: Path) -> None:
    spools = AllSpools(tmp_path / "none", limits(1))
    spools.remove_old()
    assert spools.make_room(2 * KIB, tmp_path) == KIB
    (tmp_path / "removed.log").write_text('x\n[1]\n["run@host", 3, "too old"]\n')
    assert take_removed(tmp_path) == [Removed("run@host", 3, TOO_OLD)]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS])
def test_a_quota_is_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """What the disk refuses goes to the fallback, and back once there is room."""
    home, fallback = tmp_path / "data" / "spool" / "run@host", tmp_path / "rings"
    spool = Spool(home, fallback=fallback)
    write, full = FileIO.write, [True]

    def refuse(file: FileIO, content: bytes) -> int:
        if full and str(file.name).startswith(str(home)):
            raise OSError(number, os.strerror(number))
        return write(file, content)

    monkeypatch.setattr("underfed.collector.spool.segment.FileIO", type("Refusing", (FileIO,), {"write": refuse}))
    for index in range(3):
        assert spool.append(Label("0-1", index, None, {}), b"x")
    assert (segments_in(home), len(segments_in(fallback))) == ([], 1)
    full.clear()
    assert spool.append(Label("0-1", 3, 2, {}), b"x")
    assert (len(segments_in(home)), segments_in(fallback)) == (2, [])
    assert (spool.unsent, spool.dropped.total()) == (4, 0)
    spool.close()


@pytest.mark.parametrize("variable", ["UNDERFED_SPOOL_MB", "UNDERFED_SPOOL_DAYS"])
@pytest.mark.parametrize("text", ["0", "-1", "much", "nan", "inf"])
def test_a_wrong_limit_is_said_before_training_starts(variable: str, text: str) -> None:
    with pytest.raises(ConfigError, match=variable):
        read_config({variable: text})


def test_limits_have_their_defaults() -> None:
    assert read_spool_limits({}) == SpoolLimits(2 * 10**9, 30 * 86_400.0)
    assert read_spool_limits({"UNDERFED_SPOOL_MB": "0.5", "UNDERFED_SPOOL_DAYS": "2"}) == SpoolLimits(500_000, 172_800)
