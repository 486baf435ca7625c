"""Batches of bytes that travel as floating-point numbers: where that costs time, and where it does not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.advice.made_case import altered, changes, of, recommended
from tests.app.made_facts import made_run
from underfed_server.advice.advise import Recommendation
from underfed_server.facts.record import RunFacts

MB = 1_000_000


def pictures(**known: Any) -> RunFacts:
    """Batches of 40 MB in float32, beside labels."""
    facts = made_run(wait_ms=30.0, work_ms=20.0, num_workers=2, load_cpu_ms=100.0, queue_depth=0, uses_gpu=True)
    usual = {"batch_dtypes": {"float32": 40 * MB, "int64": 512}, "batch_bytes": 40 * MB + 512, "batch_fits_uint8": True}
    return altered(facts, loader={**usual, **known})


@pytest.mark.parametrize("cause", ["slow_collate", "ipc_copy", "pin_thread"])
def test_bytes_are_advised_where_moving_the_batch_costs_time(cause: str) -> None:
    best = of("smaller_dtype", recommended(pictures(), **{cause: 0.4}))
    assert (best.from_, best.to) == ("float32", "uint8")
    assert {row.what: row.value for row in best.evidence}["Saved of a batch as bytes"] == 30 * MB


@pytest.mark.parametrize("known", [
    {"batch_fits_uint8": False}, {"batch_fits_uint8": None}, {"batch_dtypes": None},
    {"batch_dtypes": {"uint8": 40 * MB}}, {"batch_dtypes": {"float32": 20 * MB, "int64": 20 * MB}},
    {"batch_dtypes": {"float32": 40_000}, "batch_bytes": 40_000},
])  # fmt: skip
def test_bytes_are_not_advised_where_they_would_not_do_or_save_little(known: dict[str, Any]) -> None:
    assert "smaller_dtype" not in changes(recommended(pictures(**known), slow_collate=0.4))


def test_numbers_that_a_byte_cannot_hold_are_refused_where_they_cost_time() -> None:
    def refused(**known: Any) -> set[str]:
        return {each.change for each in recommended(pictures(**known), ipc_copy=0.4).refusals}

    assert "smaller_dtype" in refused(batch_fits_uint8=False)
    assert "smaller_dtype" not in refused() | refused(batch_fits_uint8=None)
    few = {"batch_dtypes": {"float32": 40_000}, "batch_bytes": 40_000}
    assert "smaller_dtype" not in refused(batch_fits_uint8=False, **few)


@pytest.mark.parametrize("bound", ["compute", "host"])
def test_a_loop_that_does_not_wait_gets_no_smaller_numbers(bound: Any) -> None:
    assert recommended(pictures(), bound) == Recommendation()
    assert "smaller_dtype" not in changes(recommended(pictures(), too_few_workers=0.5))


def test_the_gain_is_computed_of_copies_and_of_pinning_alone() -> None:
    copied = altered(pictures(), steps={"h2d_us": 20_000.0, "h2d_exposed_us": 20_000.0})
    best = of("smaller_dtype", recommended(copied, "transfer", pageable_copy=0.4))
    # Three quarters of 20 ms, in a step of 50.
    assert best.predicted_speedup == pytest.approx(50 / 35, rel=0.01)
    pinned = altered(pictures(), batches={"pin_us": 20_000.0})
    best = of("smaller_dtype", recommended(pinned, pin_thread=0.2))
    assert best.predicted_speedup == pytest.approx(50 / 40, rel=0.01)
    best = of("smaller_dtype", recommended(pictures(), slow_collate=0.4))
    assert best.predicted_speedup is None
    assert best.assumption is not None and "number of bytes" in best.assumption


def test_without_a_gpu_it_is_said_who_converts() -> None:
    facts = altered(pictures(), rank={"uses_gpu": False})
    assert "training process converts" in of("smaller_dtype", recommended(facts, slow_collate=0.4)).risk
