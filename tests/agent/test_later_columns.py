"""What is known of a step only after it comes in the unit that its column's name ends in."""

from __future__ import annotations

import pytest

from underfed.collector.reading.loader_records import LoaderRecords
from underfed.collector.reading.overhead import Overhead
from underfed.collector.wire import LONGEST_US
from underfed.exchange import ring_format
from underfed.exchange.ring_format import NOT_MEASURED, Record, head
from underfed.exchange.run_files import RingName


def record(step: int, idle_ns: int, work_ns: int, size_bytes: int) -> Record:
    return head(ring_format.DEVICE, 0), step, idle_ns, work_ns, size_bytes, 0, 0, 1


def test_a_later_column_is_told_in_the_unit_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {ring_format.DEVICE: ("gpu_idle_us", "gpu_work_us", "made_bytes")}
    monkeypatch.setattr(ring_format, "LATER_COLUMNS", columns)
    told: list[dict[str, int | None]] = []
    records = LoaderRecords("train", 0, lambda _a, _b: False, Overhead())
    monkeypatch.setattr(records.steps, "later", lambda _, times: told.append(times))
    megabytes, hours_ns = 38_535_168, 2 * 3_600_000_000_000
    records.feed_steps(RingName(0), [record(7, hours_ns, 4_500, megabytes)])
    records.feed_steps(RingName(0), [record(8, NOT_MEASURED, 0, NOT_MEASURED)])
    assert told == [
        {"gpu_idle_us": LONGEST_US, "gpu_work_us": 5, "made_bytes": megabytes},
        {"gpu_idle_us": None, "gpu_work_us": 0, "made_bytes": None},
    ]
