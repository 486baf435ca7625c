"""The spool: what was appended is read in order and dropped when acknowledged, whatever happens in between."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from underfed.collector.spool import spool_directory
from underfed.collector.spool.segment import Label, Segment, SpooledWindow, read_segment
from underfed.collector.spool.spool import Spool
from underfed.collector.spool.spool_directory import BOUND_BYTES, SpoolDirectory

OpenSpool = Callable[..., Spool]


@pytest.fixture
def open_spool() -> Iterator[OpenSpool]:
    """Opens spools as often as a test wants: one that is opened again stands for the next process."""
    opened: list[Spool] = []

    def open_one(directory: Path, bound_bytes: int = BOUND_BYTES, fallback: Path | None = None) -> Spool:
        opened.append(Spool(directory, bound_bytes, fallback))
        return opened[-1]

    yield open_one
    for spool in opened:
        spool.close()


def label(index: int, stream: str = "0-1") -> Label:
    return Label(stream, index, index - 1 if index else None, {"next_index": index + 1})


def fill(spool: Spool, count: int, start: int = 0, size: int = 10) -> None:
    for index in range(start, start + count):
        assert spool.append(label(index), b"%d" % index + b"x" * size)


def take(spool: Spool) -> SpooledWindow:
    frame = spool.peek()
    assert frame is not None
    spool.acknowledge(frame)
    return frame


def indexes(spool: Spool) -> list[int]:
    """Of everything unsent, taking it."""
    found = []
    while spool.unsent:
        found.append(take(spool).label.window_index)
    return found


def test_windows_come_out_in_order_and_once(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path)
    fill(spool, 3)
    assert spool.unsent == 3
    assert indexes(spool) == [0, 1, 2]
    assert spool.peek() is None


def test_a_window_is_kept_until_it_is_acknowledged(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path)
    fill(spool, 1)
    first, again = spool.peek(), spool.peek()
    assert first is not None
    assert first == again
    assert first.body.startswith(b"0x")


def test_the_next_process_goes_on_where_the_last_was_killed(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path)
    fill(spool, 5)
    take(spool)
    take(spool)
    later = open_spool(tmp_path)
    assert later.unsent == 3
    assert later.resume == {"0-1": {"next_index": 5}}
    fill(later, 2, start=5)
    assert indexes(later) == [2, 3, 4, 5, 6]


def test_the_place_to_go_on_from_outlives_the_windows(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path)
    fill(spool, 5)
    indexes(spool)
    assert open_spool(tmp_path).resume == {"0-1": {"next_index": 5}}


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


def litter(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0" * 50)


@pytest.mark.parametrize(("harm", "left"), [(cut, [0, 1]), (damage, [0, 1]), (litter, [0, 1, 2])])
def test_a_torn_end_is_skipped_and_what_follows_is_read(
    harm: Callable[[Path], None], left: list[int], tmp_path: Path, open_spool: OpenSpool
) -> None:
    fill(open_spool(tmp_path), 3)
    harm(tmp_path / "00000001.segment")
    later = open_spool(tmp_path)
    assert later.unsent == len(left)
    fill(later, 1, start=3)
    assert indexes(later) == [*left, 3]


def test_beyond_its_bound_the_oldest_go_and_are_counted(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path, 16_000)
    fill(spool, 100, size=500)
    kept = indexes(spool)
    assert kept == list(range(kept[0], 100))
    assert spool.dropped["0-1"] == kept[0] > 0
    assert kept_bytes(tmp_path) <= 16_000


def kept_bytes(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob("*.segment"))


def test_the_bound_is_never_passed_and_each_rank_has_its_own(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path, 16_000)
    for index in range(100):
        spool.append(label(index, "0-1"), b"x" * 500)
        assert kept_bytes(tmp_path) <= 16_000
    for index in range(100):
        spool.append(label(index, f"{index % 3}-1"), b"x" * 500)
        assert kept_bytes(tmp_path) <= 48_000
    assert kept_bytes(tmp_path) > 45_000


def test_what_was_sent_does_not_count_as_dropped(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path, 16_000)
    fill(spool, 3, size=500)
    assert indexes(spool) == [0, 1, 2]
    fill(spool, 30, start=3, size=500)
    assert spool.dropped["0-1"] + spool.unsent == 30


def test_what_was_dropped_is_remembered(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path, 16_000)
    fill(spool, 100, size=500)
    assert open_spool(tmp_path, 16_000).dropped == spool.dropped


def test_sent_segments_are_removed(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path, 16_000)
    fill(spool, 10, size=500)
    assert len(list(tmp_path.glob("*.segment"))) > 5
    indexes(spool)
    assert len(list(tmp_path.glob("*.segment"))) == 1


def test_a_refused_window_is_put_aside_and_counted(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path)
    fill(spool, 2)
    frame = spool.peek()
    assert frame is not None
    spool.reject(frame)
    assert spool.rejected["0-1"] == 1
    assert (tmp_path / "rejected" / "0-1-00000000.json.gz").read_bytes() == frame.body
    assert indexes(spool) == [1]


def test_only_the_newest_refused_windows_are_kept(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path)
    fill(spool, 20)
    while (frame := spool.peek()) is not None:
        spool.reject(frame)
    kept = sorted(path.name for path in (tmp_path / "rejected").iterdir())
    assert (len(kept), kept[-1]) == (16, "0-1-00000019.json.gz")
    assert spool.rejected["0-1"] == 20


def test_it_can_go_back_to_a_window_that_is_still_there(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path)
    fill(spool, 4)
    for _ in range(3):
        take(spool)
    assert spool.go_back("0-1", 1)
    assert indexes(spool) == [1, 2, 3]


def test_it_does_not_go_back_to_what_is_gone_or_forward(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path, 16_000)
    fill(spool, 6, size=900)
    for _ in range(3):
        take(spool)
    assert not spool.go_back("0-1", 0)
    assert not spool.go_back("0-1", 5)
    assert not spool.go_back("1-1", 0)
    assert indexes(spool) == [3, 4, 5]


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """The kernel takes no more: what a full disk does to a write, the half of a frame included."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_a_counted_hole_and_not_the_end(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path)
    fill(spool, 1)
    with files_of_at_most(kept_bytes(tmp_path) + 40):
        assert not spool.append(label(1), os.urandom(500))
        assert not spool.append(label(2), os.urandom(500))
    assert spool.dropped["0-1"] == 2
    assert spool.take_holes() == {"0-1"}
    assert spool.take_holes() == set()
    fill(spool, 1, start=3)
    assert len(list(tmp_path.glob("*.segment"))) == 1
    assert indexes(spool) == [0, 3]


def test_what_the_disk_refuses_goes_to_memory_and_back_to_the_disk_once_it_takes_it(
    tmp_path: Path, open_spool: OpenSpool
) -> None:
    home, fallback = tmp_path / "home", tmp_path / "fallback"
    spool = open_spool(home, fallback=fallback)
    fill(spool, 2)
    home.rename(tmp_path / "full")
    home.touch()
    fill(spool, 3, start=2)
    assert not spool.dropped
    assert len(list(fallback.glob("*.segment"))) == 1
    home.unlink()
    (tmp_path / "full").rename(home)
    fill(spool, 1, start=5)
    assert list(fallback.glob("*.segment")) == []
    assert indexes(spool) == [0, 1, 2, 3, 4, 5]


def test_the_next_process_reads_disk_and_memory_in_order(tmp_path: Path, open_spool: OpenSpool) -> None:
    home, fallback = tmp_path / "home", tmp_path / "fallback"
    spool = open_spool(home, fallback=fallback)
    fill(spool, 2)
    take(spool)
    home.rename(tmp_path / "full")
    home.touch()
    fill(spool, 2, start=2)
    home.unlink()
    (tmp_path / "full").rename(home)
    later = open_spool(home, fallback=fallback)
    assert later.resume == {"0-1": {"next_index": 4}}
    assert indexes(later) == [1, 2, 3]


def test_how_far_it_was_sent_is_kept_where_it_can_be(tmp_path: Path, open_spool: OpenSpool) -> None:
    home, fallback = tmp_path / "home", tmp_path / "fallback"
    home.touch()
    spool = open_spool(home, fallback=fallback)
    fill(spool, 3)
    take(spool)
    assert indexes(open_spool(home, fallback=fallback)) == [1, 2]
    home.unlink()
    take(spool)
    assert not (fallback / "progress.json").exists()
    assert indexes(open_spool(home, fallback=fallback)) == [2]


def test_the_fallback_in_memory_has_a_bound_of_its_own(
    tmp_path: Path, open_spool: OpenSpool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").touch()
    spool = open_spool(tmp_path / "home", 16_000, tmp_path / "fallback")
    fill(spool, 100, size=500)
    kept = indexes(spool)
    assert kept == list(range(kept[0], 100))
    assert spool.dropped["0-1"] == kept[0] > 0


def test_the_last_of_a_disk_is_left_to_others(
    tmp_path: Path, open_spool: OpenSpool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = open_spool(tmp_path)
    fill(spool, 1)
    monkeypatch.setattr(spool_directory, "SPARED_BYTES", 1 << 60)
    monkeypatch.setattr(spool_directory, "SPARED_FRACTION", 1.0)
    assert not spool.append(label(1), b"x")
    monkeypatch.undo()
    fill(spool, 1, start=2)
    assert (indexes(spool), spool.dropped["0-1"]) == ([0, 2], 1)


def test_a_directory_that_somebody_removed_is_a_counted_loss_and_made_again(
    tmp_path: Path, open_spool: OpenSpool
) -> None:
    spool = open_spool(tmp_path / "spool")
    fill(spool, 3)
    shutil.rmtree(tmp_path / "spool")
    fill(spool, 2, start=3)
    assert indexes(spool) == [3, 4]
    assert spool.dropped["0-1"] == 3


def test_a_loss_that_leaves_nothing_to_read_ends_the_wait_for_it(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path / "spool")
    fill(spool, 3)
    shutil.rmtree(tmp_path / "spool")
    assert spool.peek() is None
    assert (spool.unsent, spool.dropped["0-1"]) == (0, 3)


def test_what_lies_behind_a_damaged_window_is_counted(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path)
    fill(spool, 2)
    size = kept_bytes(tmp_path)
    fill(spool, 2, start=2)
    content = bytearray((tmp_path / "00000001.segment").read_bytes())
    content[size + 20] ^= 1
    (tmp_path / "00000001.segment").write_bytes(content)
    found = []
    while spool.unsent:
        frame = spool.peek()
        if frame is not None:
            spool.acknowledge(frame)
            found.append(frame.label.window_index)
    assert (found, spool.dropped["0-1"]) == ([0, 1], 2)


def test_another_users_spool_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("open", "link"):
        with pytest.raises(OSError, match="private"):
            Segment.begin(SpoolDirectory(tmp_path / name, 1000), 1, "0-1", b"frame")
    assert list(tmp_path.glob("*.segment")) == []


def test_nothing_is_left_of_a_run_that_is_over_and_sent(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path)
    fill(spool, 2)
    indexes(spool)
    spool.close(is_over=True)
    assert list(tmp_path.iterdir()) == []


def test_an_unsent_window_outlives_closing(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path)
    fill(spool, 2)
    spool.close(is_over=True)
    assert indexes(open_spool(tmp_path)) == [0, 1]


def test_unreadable_progress_means_sending_again(tmp_path: Path, open_spool: OpenSpool) -> None:
    spool = open_spool(tmp_path)
    fill(spool, 2)
    take(spool)
    (tmp_path / "progress.json").write_text("{")
    assert indexes(open_spool(tmp_path)) == [0, 1]


def test_a_directory_that_cannot_be_written_keeps_nothing_and_counts(tmp_path: Path, open_spool: OpenSpool) -> None:
    (tmp_path / "file").touch()
    spool = open_spool(tmp_path / "file" / "spool")
    assert not spool.append(label(0), b"lost")
    assert (spool.unsent, spool.dropped["0-1"]) == (0, 1)


def test_a_copied_segment_can_be_read_by_anyone(tmp_path: Path, open_spool: OpenSpool) -> None:
    fill(open_spool(tmp_path / "spool"), 2)
    shutil.copy(tmp_path / "spool" / "00000001.segment", tmp_path / "copy")
    frames = list(read_segment(tmp_path / "copy", 1))
    assert [frame.label for frame in frames] == [label(0), label(1)]
