"""The slow-down curve: one busy core is 1, more never run faster, and a host is measured once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.launching import make_known
from underfed.host import calibration, handover


def test_the_curve_begins_with_one_core_and_ends_with_all() -> None:
    curve = calibration.measure_slowdown(cores=2, budget_s=0.1)
    assert [cores for cores, _ in curve] == [1.0, 2.0]
    assert curve[0][1] == 1.0


@pytest.mark.soak(passes=2, of=3)
def test_two_cores_are_not_much_slower_or_faster_than_one() -> None:
    assert 0.5 < calibration.measure_slowdown(cores=2, budget_s=0.1)[1][1] < 4


def test_many_cores_are_measured_at_a_few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "cpu_time_ns", lambda busy, _seconds, _prepare=None: 100.0 + busy)
    cores = [cores for cores, _ in calibration.measure_slowdown(64)]
    assert (cores[0], cores[-1]) == (1.0, 64.0)
    assert cores == sorted(cores)
    assert len(cores) <= 8


def test_work_that_leaves_the_caches_is_measured_as_far_as_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    curve, bytes_per_s = calibration.measure_memory(cores=2, budget_s=0.1)
    assert curve is not None and curve[0] == (1.0, 1.0) and len(curve) == 2
    assert bytes_per_s is not None and 1e7 < bytes_per_s < 1e12
    monkeypatch.setattr(calibration, "_left_bytes", lambda: 100 << 20)
    assert calibration.measure_memory(cores=64) == (None, None)
    monkeypatch.setattr(calibration, "_left_bytes", lambda: 1 << 40)
    monkeypatch.setattr(calibration, "cpu_time_ns", lambda busy, _seconds, _prepare: 100.0 + busy)
    many, _ = calibration.measure_memory(cores=64)
    assert many is not None and many[-1][0] == 16.0


def test_a_host_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert calibration.read_cached(tmp_path) is None
    first = calibration.calibrate(tmp_path)
    monkeypatch.setattr(calibration, "measure_slowdown", lambda *_: pytest.fail("measured again"))
    monkeypatch.setattr(handover, "measure_handover", lambda: pytest.fail("measured again"))
    assert calibration.calibrate(tmp_path) == first == calibration.read_cached(tmp_path)


def test_other_cpus_need_a_curve_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_known(str(tmp_path))
    assert calibration.read_cached(tmp_path) is not None
    monkeypatch.setattr(calibration, "whole_cores", lambda: 77)
    assert calibration.read_cached(tmp_path) is None


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"cpu_slowdown": [["a", 1]], "handover": null}', "null"])
def test_a_damaged_cache_is_no_curve(content: str, tmp_path: Path) -> None:
    make_known(str(tmp_path))
    assert calibration.read_cached(tmp_path) is not None
    (path,) = (tmp_path / "calibration").iterdir()
    path.write_text(content)
    assert calibration.read_cached(tmp_path) is None
