"""The ring: what one process writes another reads, once, whole, and in order; what was overwritten is counted."""

from __future__ import annotations

import os
import signal
import struct
import sys
from pathlib import Path

import pytest

from underfed.errors import RingError
from underfed.exchange.ring import HEADER_BYTES, RECORD, RingReader, RingWriter
from underfed.exchange.ring_format import Record


def drain(reader: RingReader) -> list[Record]:
    reader.mark()
    return reader.drain()


def numbers(records: list[Record]) -> list[int]:
    """What the tests write: each record's first field is its number."""
    return [record[0] for record in records]


@pytest.fixture
def ring(tmp_path: Path) -> tuple[RingWriter, RingReader]:
    writer = RingWriter(tmp_path / "ring", 16)
    return writer, RingReader(tmp_path / "ring")


def test_records_are_read_once_whole_and_in_order(ring: tuple[RingWriter, RingReader]) -> None:
    writer, reader = ring
    writer.write(1, 2, 3, 4, 5, 6, 7)
    writer.write(2, -1, 2**62)
    assert drain(reader) == [(1, 2, 3, 4, 5, 6, 7, 1), (2, -1, 2**62, 0, 0, 0, 0, 2)]
    assert drain(reader) == []


def test_a_ring_goes_round(ring: tuple[RingWriter, RingReader]) -> None:
    writer, reader = ring
    seen: list[int] = []
    for start in range(1, 101, 5):
        for number in range(start, start + 5):
            writer.write(number)
        seen += numbers(drain(reader))
    assert seen == list(range(1, 101))
    assert reader.lost == 0


@pytest.mark.parametrize("missing", [{1}, {3}, {3, 4, 5}, {16, 18}])
def test_a_record_that_never_comes_is_counted_and_those_behind_it_are_read(
    ring: tuple[RingWriter, RingReader], missing: set[int]
) -> None:
    """What a handler raised ended its writer between number and record."""
    writer, reader = ring
    seen: list[int] = []
    for number in range(1, 25):
        if number in missing:
            writer.next_number()
        else:
            writer.write(number)
        seen += numbers(drain(reader))
    seen += numbers(drain(reader))
    assert seen == [number for number in range(1, 25) if number not in missing]
    assert reader.lost == len(missing)


def test_a_record_that_comes_later_than_the_one_behind_it_is_read(ring: tuple[RingWriter, RingReader]) -> None:
    """Two threads write."""
    writer, reader = ring
    first = writer.next_number()
    writer.write(2)
    assert drain(reader) == []
    writer.pack(writer.memory, HEADER_BYTES + first * RECORD.size, 1, 0, 0, 0, 0, 0, 0, first)
    assert numbers(drain(reader)) == [1, 2]
    assert reader.lost == 0


def test_what_was_overwritten_is_counted_and_the_newest_kept(ring: tuple[RingWriter, RingReader]) -> None:
    writer, reader = ring
    for number in range(1, 101):
        writer.write(number)
    kept = numbers(drain(reader))
    # Of 16, an eighth is not read: the writer may be writing there.
    assert kept == list(range(86, 101))
    assert reader.lost == 85
    writer.write(101)
    assert numbers(drain(reader)) == [101]


def test_the_slots_that_the_writer_comes_to_next_are_not_read(ring: tuple[RingWriter, RingReader]) -> None:
    writer, reader = ring
    for number in range(1, 17):
        writer.write(number)
    assert numbers(drain(reader)) == list(range(2, 17))
    assert reader.lost == 1


def test_a_record_that_is_being_written_is_left_for_the_next_time(ring: tuple[RingWriter, RingReader]) -> None:
    writer, reader = ring
    writer.write(1)
    writer.write(2)
    # The fields of the third are there, its number is not yet.
    struct.pack_into("@7q", writer.memory, HEADER_BYTES + 3 * RECORD.size, 3, 3, 3, 3, 3, 3, 3)
    assert numbers(drain(reader)) == [1, 2]
    writer.write(3)
    writer.write(4)
    assert numbers(drain(reader)) == [3, 4]


def test_what_is_written_after_the_mark_waits(ring: tuple[RingWriter, RingReader]) -> None:
    writer, reader = ring
    writer.write(1)
    reader.mark()
    writer.write(2)
    assert numbers(reader.drain()) == [1]
    assert numbers(drain(reader)) == [2]


def test_a_writer_that_passes_while_we_copy_costs_the_oldest_records(ring: tuple[RingWriter, RingReader]) -> None:
    writer, reader = ring
    for number in range(1, 15):
        writer.write(number)
    reader.mark()
    for number in range(15, 20):
        writer.write(number)
    kept = numbers(reader.drain())
    assert kept == list(range(5, 15))
    assert reader.lost == 4
    assert numbers(drain(reader)) == [15, 16, 17, 18, 19]


def test_a_later_reader_goes_on_where_the_first_stopped(ring: tuple[RingWriter, RingReader], tmp_path: Path) -> None:
    writer, reader = ring
    for number in range(1, 6):
        writer.write(number)
    drain(reader)
    writer.write(6)
    assert numbers(drain(RingReader(tmp_path / "ring", reader.next))) == [6]


def test_a_killed_writer_leaves_all_it_wrote(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        writer = RingWriter(tmp_path / "ring", 1024)
        for number in range(1, 501):
            writer.write(number)
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    reader = RingReader(tmp_path / "ring")
    assert numbers(drain(reader)) == list(range(1, 501))
    assert reader.pid == child


def test_a_reader_beside_a_fast_writer_never_sees_a_mixed_record(tmp_path: Path) -> None:
    writer, reader = RingWriter(tmp_path / "ring", 256), RingReader(tmp_path / "ring")
    child = os.fork()
    if child == 0:
        for number in range(1, 60_001):
            writer.write(number, number, number, number, number, number, number)
        os._exit(0)
    records: list[Record] = []
    is_over = False
    while not is_over:
        is_over = os.waitpid(child, os.WNOHANG) != (0, 0)
        records += drain(reader)
    assert all(len(set(record)) == 1 for record in records)
    assert numbers(records) == sorted(set(numbers(records)))
    assert len(records) + reader.lost == 60_000


def test_a_file_that_is_no_ring_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ring").write_bytes(b"something else".ljust(4096))
    with pytest.raises(RingError, match="not a ring"):
        RingReader(tmp_path / "ring")


def test_a_ring_that_is_cut_short_is_refused(ring: tuple[RingWriter, RingReader], tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes((tmp_path / "ring").read_bytes()[:-64])
    with pytest.raises(RingError):
        RingReader(tmp_path / "short")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
def test_a_full_disk_raises_instead_of_killing_the_process_later() -> None:
    with pytest.raises(OSError):
        RingWriter("/dev/full/ring", 16)


def test_all_of_a_ring_is_allocated_before_it_is_used(tmp_path: Path) -> None:
    RingWriter(tmp_path / "ring", 1024)
    allocated = (tmp_path / "ring").stat().st_blocks * 512
    assert allocated >= HEADER_BYTES + 1024 * RECORD.size


def test_integers_are_those_of_this_machine() -> None:
    assert RECORD.size == 64
    assert sys.byteorder == ("little" if struct.pack("@q", 1)[0] == 1 else "big")
