"""The slow-down curve: one busy core is 1, more never run faster, and a host is measured once."""

from __future__ import annotations

from pathlib import Path

import pytest

from underfed import calibrate, handover


def test_the_curve_begins_with_one_core_and_ends_with_all() -> None:
    curve = calibrate.measure(cores=2, budget_s=0.1)
    assert [cores for cores, _ in curve] == [1.0, 2.0]
    assert curve[0][1] == 1.0


@pytest.mark.soak(passes=2, of=3)
def test_two_cores_are_not_much_slower_or_faster_than_one() -> None:
    assert 0.5 < calibrate.measure(cores=2, budget_s=0.1)[1][1] < 4


def test_many_cores_are_measured_at_a_few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "cpu_time_ns", lambda busy, _seconds: 100.0 + busy)
    cores = [cores for cores, _ in calibrate.measure(64)]
    assert (cores[0], cores[-1]) == (1.0, 64.0)
    assert cores == sorted(cores)
    assert len(cores) <= 8


def test_a_host_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert calibrate.read_cached(tmp_path) is None
    first = calibrate.calibrate(tmp_path)
    monkeypatch.setattr(calibrate, "measure", lambda *_: pytest.fail("measured again"))
    monkeypatch.setattr(handover, "measure", lambda: pytest.fail("measured again"))
    assert calibrate.calibrate(tmp_path) == first == calibrate.read_cached(tmp_path)


def test_other_cpus_need_a_curve_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calibrate.calibrate(tmp_path)
    monkeypatch.setattr(calibrate, "usable_cores", lambda: 77)
    assert calibrate.read_cached(tmp_path) is None


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"cpu_slowdown": [["a", 1]], "handover": null}', "null"])
def test_a_damaged_cache_is_no_curve(content: str, tmp_path: Path) -> None:
    calibrate.calibrate(tmp_path)
    (path,) = (tmp_path / "calibration").iterdir()
    path.write_text(content)
    assert calibrate.read_cached(tmp_path) is None


def test_by_default_it_lies_in_the_data_directory(tmp_path: Path) -> None:
    calibrate.calibrate()
    assert calibrate.read_cached(tmp_path / "data") is not None
