"""Before the first command on a host its curve is measured, once, and never at the command's cost."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from tests.fakes.forkserver import python
from tests.fakes.launching import UNDERFED, finish, start
from tests.fakes.service import Service, wait_until
from underfed.host import calibration
from underfed.host.lock import locked


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Where the host was measured; from then on it is known."""
    found: list[Path] = []

    def measure(directory: Path) -> None:
        if not found:
            time.sleep(0.05)
            found.append(directory)

    monkeypatch.setattr(calibration, "calibrate", measure)
    monkeypatch.setattr(calibration, "read_cached", lambda _directory: found[0] if found else None)
    monkeypatch.setattr(calibration, "whole_cores", lambda: 2)
    return found


def test_a_host_is_measured_once(measured: list[Path], tmp_path: Path) -> None:
    for _ in range(3):
        calibration.calibrate_once(tmp_path)
    assert measured == [tmp_path]


def test_launchers_that_begin_together_measure_once(measured: list[Path], tmp_path: Path) -> None:
    launchers = [threading.Thread(target=calibration.calibrate_once, args=(tmp_path,)) for _ in range(8)]
    for each in launchers:
        each.start()
    for each in launchers:
        each.join()
    assert measured == [tmp_path]


def test_who_waits_for_another_does_not_wait_for_ever(
    measured: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "PATIENCE_S", 0.05)
    with locked(tmp_path / "calibration"):
        calibration.calibrate_once(tmp_path)
    assert measured == []


def test_a_single_core_has_no_curve(measured: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "whole_cores", lambda: 1)
    calibration.calibrate_once(tmp_path)
    assert measured == []


def test_where_nothing_can_be_kept_nothing_is_measured(measured: list[Path], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    calibration.calibrate_once(tmp_path / "file" / "data")
    assert measured == []


def test_the_first_run_on_a_host_reports_its_curve(service: Service, tmp_path: Path) -> None:
    assert not (tmp_path / "data").exists()
    assert finish(start(*UNDERFED, "run", "--", python(), "-m", "tests.fakes.plain")).returncode == 0
    wait_until(service.ends, "the end arrives")
    curves = [window["run"]["host"]["cpu_slowdown"] for window in service.windows if "run" in window]
    assert curves[0][0] == [1.0, 1.0]
    assert len(curves[0]) > 1
