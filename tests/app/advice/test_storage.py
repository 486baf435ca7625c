"""Advice on where the data set lies: copied into memory where it fits and helps, refused with the reason elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.app.advice.made_case import GIB, altered, changes, made_case, made_verdict, of, recommended, refused
from tests.app.made_facts import made_epoch, made_place, made_run
from underfed_server.advice.advise import Recommendation, recommend
from underfed_server.facts.record import RunFacts, WorkerFacts
from underfed_server.model import Advice, StorageKind, StoragePlace


def place(kind: StorageKind = "nvme", file_system: str = "ext4") -> StoragePlace:
    example = "/data/my photos/cat/1.jpg"
    return made_place(kind, file_system=file_system, device="nvme0n1", files_seen=90, example=example)


def reading(**changes: Any) -> RunFacts:
    """Batches of 32 samples of 1 MB in all, every byte of it from storage; 20 GB in the whole set."""
    facts = made_run(
        wait_ms=80.0, work_ms=20.0, num_workers=2, load_cpu_ms=20.0, load_blocked_ms=180.0, queue_depth=0,
        read_bytes=1e6, busy_cores=0.5, process_cores=0.2, workers_cores=0.3,
    )  # fmt: skip
    facts = altered(facts, loader={"dataset_length": 640_000}, host={"memory_available_bytes": 64 * GIB})
    return altered(facts, **{"storage": (place(),), **changes})


def advised(facts: RunFacts) -> Recommendation:
    case = made_case(facts, made_verdict(storage_wait=0.6), lambda one: 2.0 if one.is_in_memory else 1.0)
    return recommend(case)


def offered(facts: RunFacts) -> Advice:
    return of("tmpfs", advised(facts))


def test_a_data_set_that_fits_is_copied_into_memory() -> None:
    best = offered(reading())
    assert (best.from_, best.to, best.predicted_speedup) == ("/data", "/mnt/train-data", 2.0)
    assert best.settings == {} and best.command is None and best.changes_batch_order is False
    lines = best.diff.split("\n")
    # 640,000 samples of 31,250 bytes are 18.6 GiB; a tenth more is 20.5.
    assert "mount -t tmpfs -o size=21G tmpfs /mnt/train-data" in lines[1]
    assert lines[0].startswith("+DATA='/data/my photos/cat'")
    assert lines[2] == '+cp -a "$DATA/." /mnt/train-data/'
    assert "docker run --tmpfs /mnt/train-data:size=21g" in best.diff and "--shm-size=22g" in best.diff


@pytest.mark.parametrize(
    ("kind", "name"), [("nvme", "NVMe"), ("ssd", "SSD"), ("hdd", "hard disk"), ("network", "network file system")]
)
def test_the_kind_of_storage_is_named(kind: StorageKind, name: str) -> None:
    best = offered(reading(storage=(place(kind),)))
    assert name in best.why
    assert any(name in str(one.value) for one in best.evidence)


def test_where_most_files_lie_counts() -> None:
    few = made_place("overlay", "/", file_system="overlay", files_seen=2)
    assert offered(reading(storage=(few, place()))).from_ == "/data"


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ({"storage": (place("memory", "tmpfs"),)}, "in memory already"),
        ({"batches": {"read_bytes": 10_000.0}}, "page cache already serves"),
        ({"loader": {"dataset_length": 3_000_000}}, "does not fit"),
        ({"host": {"memory_available_bytes": 22 * GIB}}, "does not fit"),
        ({"host": {"memory_limit_bytes": 24 * GIB, "memory_used_bytes": 6 * GIB}}, "does not fit"),
        ({"host": {"memory_available_bytes": None}}, "not measured"),
        ({"loader": {"dataset_length": None}}, "not known"),
    ],
)
def test_it_is_refused_with_the_reason_where_it_would_not_help_or_not_fit(made: dict[str, Any], reason: str) -> None:
    found = advised(reading(**made))
    assert "tmpfs" not in changes(found)
    refusal = refused("tmpfs", found)
    assert reason in refusal.why
    figures = {one.what: one.value for one in refusal.evidence}
    assert {"Size of the data set, as read", "Memory this run may still take"} <= set(figures)


def test_it_is_refused_where_only_the_first_epoch_waits_for_storage() -> None:
    epochs = np.repeat([0.0, 1.0], 150)
    blocked = np.where(epochs == 0, 360_000.0, 500.0)
    facts = reading(batches={"epoch_index": epochs, "blocked_us": blocked})
    assert "Only the first epoch" in refused("tmpfs", advised(facts)).why


def test_it_is_refused_to_a_run_short_of_memory() -> None:
    found = recommended(reading(), storage_wait=0.6, memory_pressure=0.1)
    assert "short of memory" in refused("tmpfs", found).why


def test_the_workers_own_memory_stands_beside_the_size_of_the_data_set() -> None:
    facts = reading(rank={"workers": (WorkerFacts(0, pss_bytes=GIB), WorkerFacts(1, pss_bytes=GIB))})
    assert next(one.value for one in offered(facts).evidence if one.what == "Memory of this run's workers") == 2 * GIB


def test_an_iterable_data_set_is_as_large_as_an_epoch_that_was_read_to_its_end() -> None:
    loader = {"dataset_length": None, "is_iterable": True}
    read = made_epoch(0, steps=5_000, ended="exhausted")
    broken_off = made_epoch(1, steps=50_000, ended="broken_off")
    best = offered(reading(loader=loader, rank={"epochs": (read, broken_off)}))
    assert next(one.value for one in best.evidence if one.what.startswith("Size")) == 5_000_000_000


def test_mapped_files_are_as_large_as_what_was_read_of_them() -> None:
    best = offered(reading(batches={"asked_bytes": 0.0}))
    assert next(one.value for one in best.evidence if one.what.startswith("Size")) == 20_000_000_000


def test_nothing_is_said_of_memory_where_reads_were_not_measured_or_are_no_matter() -> None:
    unmeasured = {"asked_bytes": np.nan, "read_bytes": np.nan}
    found = recommended(reading(batches=unmeasured), too_few_workers=0.5)
    assert "tmpfs" not in {refusal.change for refusal in found.refusals} | changes(found)
    assert "tmpfs" not in changes(recommended(reading(), too_few_workers=0.5))
    pipes = {"asked_bytes": 300.0, "read_bytes": 0.0}
    assert "tmpfs" not in {one.change for one in recommended(reading(batches=pipes), no_workers=0.5).refusals}
