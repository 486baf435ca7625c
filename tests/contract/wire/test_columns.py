"""What the service declares of a row is what agents send: neither knows a column that the other does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from underfed_server.ingest.decode import decode
from underfed_server.ingest.wire import Rows
from underfed_server.measurements import MEASURES, RECORDED

RECORDED_WINDOWS = sorted((Path(__file__).parent / "v1").glob("*.json"))

OF_NO_COLUMN = {"steps": {"loader", "first_step_index", "first_batch_index"}, "batches": {"loader"},
                  "worker": {"loader", "worker"}, "gpu": {"gpu_index"}}  # fmt: skip
"""Keys of a part that are no column: of which rows it is, and what the first of them counts from."""


def windows() -> Iterator[dict[str, Any]]:
    for path in RECORDED_WINDOWS:
        yield from json.loads(path.read_text())


def parts(window: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """By kind of lane."""
    lists = {"steps": "steps", "batches": "batches", "worker": "worker_samples", "gpu": "gpus"}
    found = {kind: window.get(key) or [] for kind, key in lists.items()}
    return found | {kind: [window[kind]] if window.get(kind) else [] for kind in ("process", "host")}


@pytest.mark.parametrize("kind", RECORDED)
def test_the_columns_of_recorded_windows_are_those_that_are_declared(kind: str) -> None:
    sent = {key for window in windows() for part in parts(window)[kind] for key in part}
    declared = {name for name, each in RECORDED[kind].items() if each.is_sent}
    assert sent - OF_NO_COLUMN.get(kind, set()) == declared


@pytest.mark.parametrize("path", RECORDED_WINDOWS, ids=lambda path: path.stem)
def test_no_value_of_a_recorded_window_is_passed_over(path: Path) -> None:
    for window in json.loads(path.read_text()):
        taken = decode(json.dumps(window).encode())
        for kind, key in (("steps", "steps"), ("batches", "batches"), ("worker", "worker_samples"), ("gpu", "gpus")):
            rows: list[Rows] = getattr(taken, key)
            for part, sent in zip(rows, parts(window)[kind], strict=True):
                assert {name: value for name, value in msgspec.to_builtins(part).items() if name in sent} == sent


ROLLED_UP_FIRST = {
    "steps": (
        "compute_us", "stall_us", "data_stall_fraction", "exposed_copy_us", "step_us", "data_wait_us", "sampler_us",
        "queue_depth", "gpu_idle_us", "gpu_work_us", "h2d_us", "h2d_exposed_us",
    ),
    "batches": ("load_us", "cpu_us", "runqueue_us", "blocked_us", "collate_us", "pin_us", "read_bytes"),
    "process": ("own_cores", "rss_bytes", "workers_rss_bytes", "threads", "open_files", "swap_bytes"),
    "worker": ("rss_bytes", "pss_bytes", "threads"),
    "host": (
        "disk_read_bytes_per_s", "disk_written_bytes_per_s", "network_received_bytes_per_s",
        "network_sent_bytes_per_s", "busy_cores", "memory_available_bytes", "memory_used_bytes", "swap_used_bytes",
        "shm_free_bytes",
    ),
    "gpu": ("util_fraction", "memory_used_bytes", "power_w", "own_process"),
}  # fmt: skip


@pytest.mark.parametrize("kind", RECORDED)
def test_new_measures_come_after_those_that_roll_ups_on_disk_have(kind: str) -> None:
    assert tuple(MEASURES[kind])[: len(ROLLED_UP_FIRST[kind])] == ROLLED_UP_FIRST[kind]


def test_the_name_of_a_column_ends_in_its_unit() -> None:
    """Agents convert by the name, the service labels by the declaration."""
    declared = [(name, each.unit) for columns in RECORDED.values() for name, each in columns.items()]
    for ending, unit in (("_us", "us"), ("_bytes", "bytes"), ("_fraction", "fraction"), ("_w", "w")):
        assert [name for name, its in declared if (its == unit) != name.endswith(ending)] == []
