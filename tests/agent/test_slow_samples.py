"""Samples that take long are found by looking, without timing any."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from underfed.exchange.stacks import SeenStacks
from underfed.trainer.loading import slow_samples
from underfed.trainer.loading.slow_samples import SlowSamples, open_files, sample_of, whole_number
from underfed.trainer.loading.thread_times import ThreadTimes, Times

MS = 1_000_000

Look = tuple[int | None, int]
"""Index of the sample that is loaded, and when that is seen, in ms."""


def seen(*looks: Look) -> list[tuple[int | None, int]]:
    """Index and ms of each that is slow."""
    stacks = SeenStacks()
    slow = SlowSamples(stacks)
    for index, at_ms in looks:
        slow.look(None if index is None else (0, 0, index), index, at_ms * MS, at_ms * MS)
    return [(sample.index, sample.load_us // 1000) for sample in stacks.slow.values()]


def test_a_sample_that_is_seen_again_and_again_is_slow() -> None:
    assert seen((None, 950), (3, 1000), (3, 1050), (3, 1100), (4, 1150), (5, 1200), (None, 1250)) == [(3, 150)]


def test_one_that_is_seen_once_may_have_been_quick() -> None:
    assert seen((3, 1000), (4, 1050), (None, 1100)) == []


def test_one_that_kept_the_interpreter_lock_was_there_all_the_while() -> None:
    stacks = SeenStacks()
    slow = SlowSamples(stacks)
    slow.look((0, 0, 1), 1, 1000 * MS, 1000 * MS)
    slow.look((0, 0, 2), 2, 1050 * MS, 3050 * MS)
    slow.look((0, 0, 3), 3, 3100 * MS, 3100 * MS)
    (sample,) = stacks.slow.values()
    assert sample.index == 2
    assert 2_000 <= sample.load_us // 1000 <= 2_050


class FakeTimes:
    """Of a thread: on a CPU, waiting for one, and when that was read, in ms; one reading for each look."""

    def __init__(self, *readings: tuple[int, int, int]) -> None:
        self.readings = iter(readings)

    def read(self) -> Times:
        return Times(*(each * MS for each in next(self.readings)))


def looked_at(times: FakeTimes, *looks: Look) -> SeenStacks:
    stacks = SeenStacks()
    slow = SlowSamples(stacks, times=times)  # type: ignore[arg-type]
    for index, at_ms in looks:
        slow.look(None if index is None else (0, 0, index), index, at_ms * MS, at_ms * MS)
    return stacks


def test_what_waited_for_a_core_is_reported_and_is_not_slow_for_it() -> None:
    times = FakeTimes((490, 90, 980), (500, 100, 1_000), (520, 900, 2_000), (530, 900, 2_010), (1_030, 900, 2_610),
                      (1_040, 900, 2_620))  # fmt: skip
    stacks = looked_at(times, (None, 980), (3, 1_000), (3, 2_000), (4, 2_010), (4, 2_610), (None, 2_620))
    waited, own = (stacks.slow[index, None] for index in (3, 4))
    assert waited.runqueue_us == pytest.approx(810 / 1_020 * waited.load_us, rel=0.01)
    assert own.cpu_us == pytest.approx(510 / 610 * own.load_us, rel=0.01)
    assert own.runqueue_us == 0
    assert waited.load_us > own.load_us
    assert [each.index for each in stacks.counts().slow_samples] == [4, 3]


def test_times_that_are_read_late_are_of_the_time_until_then() -> None:
    """The thread that looks waited for a core, too, between the look and the reading."""
    times = FakeTimes((0, 0, 980), (10, 0, 1_000), (500, 1_000, 2_980), (510, 1_000, 2_990))
    (sample,) = looked_at(times, (None, 980), (3, 1_000), (3, 2_000), (None, 2_010)).slow.values()
    assert sample.runqueue_us == pytest.approx(sample.load_us / 2, rel=0.01)
    assert sample.cpu_us == pytest.approx(sample.load_us / 4, rel=0.01)


@pytest.mark.parametrize(("cpu_ms", "waited_ms"), [(501, 501), (990, 900), (1_200, 0), (0, 3_000), (333, 667)])
def test_the_parts_of_a_slow_sample_are_never_more_than_it_took(cpu_ms: int, waited_ms: int) -> None:
    """A wait is counted once it is over."""
    times = FakeTimes((0, 0, 999), (0, 0, 1_000), (cpu_ms, waited_ms, 1_999), (cpu_ms, waited_ms, 2_001))
    (sample,) = looked_at(times, (None, 999), (3, 1_000), (3, 1_999), (None, 2_001)).slow.values()
    assert sample.cpu_us is not None and sample.runqueue_us is not None
    assert 0 <= sample.cpu_us + sample.runqueue_us <= sample.load_us


def test_one_that_held_the_interpreter_lock_has_used_what_was_used_since_the_last_look() -> None:
    """It is seen once, when the lock is free again."""
    stacks = SeenStacks()
    times = FakeTimes((0, 0, 1_000), (1_000, 500, 3_000), (1_000, 500, 3_000))
    slow = SlowSamples(stacks, times=times)  # type: ignore[arg-type]
    slow.look(None, None, 1_000 * MS, 1_000 * MS)
    slow.look((0, 0, 2), 2, 1_000 * MS, 3_000 * MS)
    slow.look(None, None, 3_000 * MS, 3_000 * MS)
    (sample,) = stacks.slow.values()
    assert (sample.load_us, sample.cpu_us, sample.runqueue_us) == (2_000_000, 1_000_000, 500_000)


@pytest.mark.skipif(sys.platform != "linux", reason="read in /proc")
def test_a_thread_is_seen_to_use_a_core_by_another_one() -> None:
    times, found = ThreadTimes(threading.get_native_id()), []
    deadline = time.thread_time() + 0.05
    before = times.read()
    while time.thread_time() < deadline:
        pass
    reader = threading.Thread(target=lambda: found.append(times.read()))
    reader.start()
    reader.join()
    assert before is not None and found[0] is not None
    assert found[0].cpu_ns - before.cpu_ns >= 40 * MS
    assert found[0].runqueue_ns >= before.runqueue_ns


def test_the_same_index_in_another_batch_is_another_load() -> None:
    stacks = SeenStacks()
    slow = SlowSamples(stacks)
    for batch, at_ms in ((0, 1000), (1, 1050), (2, 1100)):
        slow.look((0, batch, 7), 7, at_ms * MS, at_ms * MS)
    assert not stacks.slow


@pytest.mark.skipif(sys.platform != "linux", reason="open files are seen in /proc")
def test_the_file_that_is_open_meanwhile_is_reported(tmp_path: Path) -> None:
    stacks = SeenStacks()
    (tmp_path / "training.log").touch()
    with (tmp_path / "training.log").open():
        slow = SlowSamples(stacks)
        (tmp_path / "0481.dcm").write_bytes(b"scan")
        slow.look((0, 0, 3), 3, 1000 * MS, 1000 * MS)
        with (tmp_path / "0481.dcm").open():
            slow.look((0, 0, 3), 3, 1050 * MS, 1050 * MS)
        slow.look(None, None, 1100 * MS, 1100 * MS)
    (sample,) = stacks.slow.values()
    assert (sample.file, sample.file_bytes) == (str(tmp_path / "0481.dcm"), 4)


@pytest.mark.skipif(sys.platform != "linux", reason="open files are seen in /proc")
def test_a_file_that_is_opened_late_is_reported_and_open_files_are_looked_at_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = []

    def counted() -> list[str]:
        listed.append(1)
        return [*open_files()]

    monkeypatch.setattr(slow_samples, "open_files", counted)
    stacks = SeenStacks()
    slow = SlowSamples(stacks)
    before = len(listed)
    for at_ms in range(1_000, 3_000, 10):
        slow.look((0, 0, 3), 3, at_ms * MS, at_ms * MS)
    assert len(listed) - before < 20
    (tmp_path / "0481.dcm").touch()
    with (tmp_path / "0481.dcm").open():
        for at_ms in range(3_000, 4_500, 10):
            slow.look((0, 0, 3), 3, at_ms * MS, at_ms * MS)
    slow.look(None, None, 4_500 * MS, 4_500 * MS)
    (sample,) = stacks.slow.values()
    assert sample.file == str(tmp_path / "0481.dcm")


@pytest.mark.skipif(sys.platform != "linux", reason="open files are seen in /proc")
def test_devices_and_our_own_rings_are_no_files_of_data() -> None:
    with Path("/dev/null").open():
        assert [path for path in open_files() if path.startswith(("/dev/", "/proc/"))] == []


@pytest.mark.parametrize(("index", "number"), [
    (7, 7), (np.int64(7), 7), (-1, None), (True, None), ("0481", None), ((3, 4), None),
])  # fmt: skip
def test_only_a_whole_number_is_an_index(index: Any, number: int | None) -> None:
    assert whole_number(index) == number


def test_a_sample_is_known_by_the_variables_of_torchs_fetcher() -> None:
    def of_a_map(idx: int, possibly_batched_index: list[int]) -> Any:
        return sample_of(sys._getframe())

    def of_an_iterable(possibly_batched_index: list[int], data: list[int]) -> Any:
        return sample_of(sys._getframe())

    def unbatched(possibly_batched_index: Any) -> Any:
        return sample_of(sys._getframe())

    assert of_a_map(7, [6, 7]) == (7, 7)
    assert of_an_iterable([0, 0], [1]) == (1, None)
    assert unbatched(5) == (5, 5)
    assert unbatched([5, 6]) is None, "one call gives a whole batch"


@pytest.mark.skipif(sys.platform != "linux", reason="open files are seen in /proc")
def test_a_file_of_the_project_is_named_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stacks = SeenStacks()
    slow = SlowSamples(stacks, worker=2)
    Path("0481.dcm").touch()
    with Path("0481.dcm").open():
        for at_ms in (1000, 1100):
            slow.look((0, 0, 3), 3, at_ms * MS, at_ms * MS)
    slow.look(None, None, 1200 * MS, 1200 * MS)
    (sample,) = stacks.slow.values()
    assert (sample.file, sample.worker) == ("0481.dcm", 2)
