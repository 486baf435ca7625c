"""What loading threads were seen to execute: kept small, handed from workers to the collector, and added up there."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from underfed.collector.reading.stacks import RankStacks
from underfed.collector.wire import Stacks
from underfed.exchange import run_files
from underfed.exchange.stacks import (
    GROUPS,
    MOST_SLOW,
    MOST_STACKS,
    Frame,
    SeenStacks,
    SlowSample,
    read_stacks,
    write_stacks,
)
from underfed.trainer.loading.frame_names import FrameNames, working_directory
from underfed.trainer.loading.slow_samples import SlowSamples

RESIZE = (Frame("Photos.__getitem__", "data.py", 41), Frame("Image.resize", "PIL/Image.py", 2440))
READ = (Frame("Photos.__getitem__", "data.py", 40),)


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums may be sent at each call."""
    clock_ns = itertools.count(0, 20_000_000_000)
    monkeypatch.setattr("underfed.collector.reading.stacks.now_ns", lambda: next(clock_ns))


def of(**seen: int) -> SeenStacks:
    stacks = SeenStacks()
    for name, samples in seen.items():
        stacks.add("getitem", {"resize": RESIZE, "read": READ}[name], samples, group=0)
    return stacks


def worker_file(directory: Path, loader: int = 0, iterator: int = 0, worker: int = 0) -> Path:
    return Path(run_files.stacks_file(run_files.batch_rings(directory, loader, iterator), worker))


def shares(stacks: Stacks) -> dict[str, int]:
    """Samples by the innermost function."""
    found = {}
    for stack in stacks.counts.stacks:
        frames = [stacks.counts.frames[place] for place in stack.frames]
        found[frames[-1].function if frames else "other"] = sum(stack.samples)
    return found


def sent(stacks: RankStacks) -> dict[str, dict[str, int]]:
    return {each.loader: shares(each) for each in stacks.take(lambda index: f"loader-{index + 1}")}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    seen = of(resize=5, read=3)
    seen.add("other", (), 1, group=7)
    seen.add_slow(SlowSample(900_000, 7, "scans/0481.dcm"))
    seen.add_slow(SlowSample(300_000, None, None))
    write_stacks(tmp_path / "some.stacks", seen)
    again = SeenStacks()
    again.merge(read_stacks(tmp_path / "some.stacks"))
    assert (again.samples, again.slow) == (seen.samples, seen.slow)


def test_those_that_are_seen_often_are_kept_and_the_rest_is_counted() -> None:
    seen = of(resize=50)
    for line in range(3 * MOST_STACKS):
        seen.add("getitem", (Frame("generated", "data.py", line),), 1, group=line % GROUPS)
    counts = seen.counts()
    assert len(counts.stacks) <= MOST_STACKS + 1
    assert sum(sum(stack.samples) for stack in counts.stacks) == 50 + 3 * MOST_STACKS
    most, *_ = (stack for stack in counts.stacks if stack.frames)
    assert sum(most.samples) == 50


def test_the_slowest_samples_are_kept_each_once() -> None:
    seen = SeenStacks()
    for index in range(3 * MOST_SLOW):
        seen.add_slow(SlowSample(1_000 * index, index, None))
        seen.add_slow(SlowSample(500 * index, index, None))
    counts = seen.counts()
    slowest = [(sample.index, sample.load_us) for sample in counts.slow_samples]
    assert slowest == [(index, 1_000 * index) for index in reversed(range(2 * MOST_SLOW, 3 * MOST_SLOW))]


def test_workers_and_their_bursts_are_added_up(tmp_path: Path) -> None:
    stacks = RankStacks(tmp_path)
    write_stacks(worker_file(tmp_path), of(resize=5))
    write_stacks(worker_file(tmp_path, worker=1), of(resize=3, read=2))
    write_stacks(worker_file(tmp_path, loader=1), of(read=4))
    stacks.read()
    assert sent(stacks) == {
        "loader-1": {"Image.resize": 8, "Photos.__getitem__": 2},
        "loader-2": {"Photos.__getitem__": 4},
    }
    assert not worker_file(tmp_path).exists(), "the worker may write the next"
    write_stacks(worker_file(tmp_path), of(read=1))
    stacks.read()
    assert sent(stacks) == {"loader-1": {"Image.resize": 8, "Photos.__getitem__": 3}}
    stacks.read()
    assert sent(stacks) == {}, "nothing has changed"
    stacks.send_again()
    assert sent(stacks).keys() == {"loader-1", "loader-2"}


def test_another_collector_goes_on_with_the_sum(tmp_path: Path) -> None:
    first = RankStacks(tmp_path)
    write_stacks(worker_file(tmp_path), of(resize=5))
    first.read()
    write_stacks(worker_file(tmp_path), of(resize=2))
    second = RankStacks(tmp_path)
    second.read()
    assert sent(second) == {"loader-1": {"Image.resize": 7}}
    second.read()
    assert sent(second) == {}, "it does not read its own sum"


def test_a_file_that_holds_something_else_is_removed_and_counted(tmp_path: Path) -> None:
    worker_file(tmp_path).write_text("[]")
    worker_file(tmp_path, worker=1).write_text('{"frames": [], "stacks": [{"frames": [3]}], "slow_samples": []}')
    stacks = RankStacks(tmp_path)
    stacks.read()
    assert (stacks.failures, sent(stacks), list(tmp_path.iterdir())) == (2, {}, [])


def test_files_of_old_workers_are_removed_without_a_collector(tmp_path: Path) -> None:
    for iterator in range(3):
        write_stacks(worker_file(tmp_path, iterator=iterator), of(read=1))
    run_files.remove_batch_rings(tmp_path, 0, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["loader-0.0.0.stacks", "loader-0.2.0.stacks"]


def test_sums_are_sent_often_first_and_then_every_ten_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock_s = 1_000
    monkeypatch.setattr("underfed.collector.reading.stacks.now_ns", lambda: clock_s * 1_000_000_000)
    stacks, sent_at = RankStacks(tmp_path), []
    for clock_s in range(1_000, 1_600):
        write_stacks(worker_file(tmp_path), of(resize=5))
        stacks.read()
        if sent(stacks):
            sent_at.append(clock_s - 1_000)
    assert sent_at[:7] == [0, 1, 2, 4, 8, 16, 26]
    assert {later - earlier for earlier, later in zip(sent_at[-20:], sent_at[-19:], strict=False)} == {10}
    assert stacks.take(str, is_last=True) != [], "at the end what is left"


def test_what_was_seen_in_about_the_first_half_of_the_time_is_sent_beside_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading until the 500th second, resizing since."""
    clock_s = 1_000
    monkeypatch.setattr("underfed.collector.reading.stacks.now_ns", lambda: clock_s * 1_000_000_000)
    stacks, shares = RankStacks(tmp_path), []
    for clock_s in range(1_000, 2_000, 5):
        write_stacks(worker_file(tmp_path), of(read=5) if clock_s < 1_500 else of(resize=5))
        stacks.read()
        for sent in stacks.take(str):
            parts = [(sum(stack.samples), sum(stack.earlier or [])) for stack in sent.counts.stacks]
            earlier = sum(part for _, part in parts) / sum(all_ for all_, _ in parts)
            shares += [earlier] if clock_s > 1_100 else []
    assert min(shares) > 0.3 and max(shares) < 0.75
    reading, resizing = sorted(sent.counts.stacks, key=lambda stack: len(stack.frames))
    assert (sum(reading.samples), sum(resizing.samples)) == (500, 495), "the last is sent later"
    assert sum(reading.earlier or []) > 350, "nearly all of what came first"
    assert sum(resizing.earlier or []) < 225, "and little since"


def test_of_a_stack_that_was_dropped_since_what_was_seen_counts_with_the_others() -> None:
    seen = of(resize=50)
    seen.add("getitem", (Frame("rare", "data.py", 1),), 1, group=0)
    before = {key: list(looks) for key, looks in seen.samples.items()}
    for line in range(3 * MOST_STACKS):
        seen.add("getitem", (Frame("generated", "data.py", line),), 2, group=0)
    counts = seen.counts(before)
    assert sum(sum(stack.earlier or []) for stack in counts.stacks) == 51
    (others,) = [stack for stack in counts.stacks if not stack.frames]
    assert sum(others.earlier or []) == 1


def test_a_directory_that_was_deleted_is_no_reason_to_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert working_directory() == []
    SlowSamples(SeenStacks())
    assert FrameNames().frame(worker_file.__code__, 0).function == "worker_file"
