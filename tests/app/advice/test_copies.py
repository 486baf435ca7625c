"""Advice on the way to the device: page-locked memory, copies that do not block, and copies ahead of time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.advice.made_case import altered, changes, of, recommended, refused
from tests.app.made_facts import made_run
from underfed_server.facts.record import RunFacts


def copying(pinned: bool, exposed_ms: float = 10.0, h2d_ms: float = 12.0, **changes: Any) -> RunFacts:
    """Steps of 50 ms, of which the device waits 10 ms for its copy."""
    facts = made_run(wait_ms=2.0, work_ms=48.0, num_workers=4, load_cpu_ms=50.0, queue_depth=8, uses_gpu=True)
    steps = {"h2d_us": h2d_ms * 1e3, "h2d_exposed_us": exposed_ms * 1e3}
    facts = altered(facts, settings={"pin_memory": pinned}, steps=steps)
    return altered(facts, **changes)


def test_exposed_copies_from_ordinary_memory_get_page_locked_memory_and_no_guess() -> None:
    found = recommended(copying(pinned=False), "transfer", pageable_copy=0.2)
    best = of("pin_memory", found)
    assert changes(found) == {"pin_memory"}
    assert best.predicted_speedup is None and best.ceiling == pytest.approx(50 / 40)
    assert best.settings == {"num_workers": 4, "prefetch_factor": 2, "pin_memory": True}
    assert best.command == "underfed run --apply made-1 -- COMMAND"
    assert "+    pin_memory=True," in best.diff
    assert best.changes_batch_order is False


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ({"process": {"swap_bytes": 1 << 20}}, "swapped out"),
        ({"loader": {"batch_tensors": 4_000, "batch_bytes": 4_000_000}}, "tiny tensors"),
        ({"rank": {"uses_gpu": False}}, "no GPU"),
        ({"steps": {"h2d_us": 12_000.0, "h2d_exposed_us": 100.0}}, "hidden behind its work"),
    ],
)
def test_page_locked_memory_is_refused_where_it_would_harm_or_not_help(made: dict[str, Any], reason: str) -> None:
    found = recommended(copying(pinned=False, **made), pageable_copy=0.2)
    assert "pin_memory" not in changes(found)
    assert reason in refused("pin_memory", found).why
    assert refused("pin_memory", found).evidence


def test_page_locked_memory_is_refused_under_memory_pressure() -> None:
    found = recommended(copying(pinned=False), "transfer", pageable_copy=0.2, memory_pressure=0.1)
    assert "Memory is short" in refused("pin_memory", found).why


def test_a_few_large_tensors_are_no_reason_to_refuse() -> None:
    facts = copying(pinned=False, loader={"batch_tensors": 1_000, "batch_bytes": 1_000 << 20})
    assert "pin_memory" in changes(recommended(facts, "transfer", pageable_copy=0.2))


def test_copies_that_were_not_timed_are_neither_advised_nor_refused() -> None:
    facts = made_run(wait_ms=30.0, work_ms=20.0, num_workers=4, load_cpu_ms=50.0, uses_gpu=True, queue_depth=0)
    found = recommended(facts, too_few_workers=0.3)
    about = {"pin_memory", "non_blocking", "prefetcher"}
    assert not about & (changes(found) | {refusal.change for refusal in found.refusals})


def test_page_locked_batches_are_copied_without_blocking_and_ahead_of_time() -> None:
    found = recommended(copying(pinned=True), "transfer")
    assert changes(found) == {"non_blocking", "prefetcher"}
    ahead, beside = of("prefetcher", found), of("non_blocking", found)
    assert ahead.predicted_speedup == pytest.approx(50 / 40)
    assert ahead.low and ahead.high and ahead.ceiling and ahead.low <= ahead.high <= ahead.ceiling + 1e-9
    assert "+for batch in underfed.prefetch(loader, device=device):" in ahead.diff
    assert beside.predicted_speedup is None
    assert "+    batch = batch.to(device, non_blocking=True)" in beside.diff
    assert "from the host to the device" in beside.risk


def test_a_copy_longer_than_the_step_cannot_be_hidden_whole() -> None:
    found = recommended(copying(pinned=True, exposed_ms=20.0, h2d_ms=40.0), "transfer")
    # 30 ms are left beside it: 10 of its 40 ms stay exposed.
    assert of("prefetcher", found).predicted_speedup == pytest.approx(50 / 40)
    assert of("prefetcher", found).ceiling == pytest.approx(50 / 30)


def test_hidden_copies_get_nothing() -> None:
    assert not recommended(copying(pinned=True, exposed_ms=0.5), "transfer").advice


def decoding(**changes: Any) -> RunFacts:
    facts = made_run(
        wait_ms=70.0, work_ms=50.0, num_workers=8, load_cpu_ms=900.0, load_runqueue_ms=60.0, busy_cores=8.0,
        process_cores=0.4, workers_cores=7.6, queue_depth=0, uses_gpu=True,
    )  # fmt: skip
    return altered(altered(facts, loader={"transforms": ("RandomResizedCrop", "ToTensor")}), **changes)


def test_the_gpu_decodes_where_all_cores_do_and_promises_nothing() -> None:
    best = of("gpu_decode", recommended(decoding(), cpu_limited=0.5))
    assert best.predicted_speedup is None and best.settings == {} and best.command is None
    assert 'decode_jpeg(encoded, device="cuda")' in best.diff and "DALI" in best.diff


@pytest.mark.parametrize(
    ("made", "cause"),
    [
        ({"rank": {"uses_gpu": False}}, "cpu_limited"),
        ({"loader": {"transforms": ("Tokenize",), "dataset_type": "Texts"}}, "cpu_limited"),
        ({}, "too_few_workers"),
    ],
)
def test_decoding_stays_on_the_cpu_without_a_gpu_without_images_or_with_cores_to_spare(
    made: dict[str, Any], cause: str
) -> None:
    assert "gpu_decode" not in changes(recommended(decoding(**made), **{cause: 0.5}))
