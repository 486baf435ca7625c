"""What is taken for short batches that no worker measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from underfed_server.measurements import Columns
from underfed_server.store.columns.short_batches import with_estimates

NAN = float("nan")


def columns(**given: Sequence[float]) -> Columns:
    return {name: np.array(values, dtype=np.float64) for name, values in given.items()}


def test_a_batch_is_taken_to_be_like_the_one_before_that_its_worker_measured() -> None:
    found = with_estimates(
        columns(
            worker=[0, 1, 0, 1, 0, 1],
            load_us=[100, 300, 50, 90, 200, 60],
            cpu_us=[60, 30, NAN, NAN, 50, NAN],
            runqueue_us=[10, 0, NAN, NAN, 0, NAN],
            blocked_us=[30, 270, NAN, NAN, 150, NAN],
            asked_bytes=[7, 9, NAN, NAN, 0, NAN],
        )
    )
    assert found["cpu_us"].tolist() == [60, 30, 30, 9, 50, 6]
    assert found["runqueue_us"].tolist() == [10, 0, 5, 0, 0, 0]
    assert found["blocked_us"].tolist() == [30, 270, 15, 81, 150, 54]
    assert found["asked_bytes"].tolist() == [7, 9, 7, 9, 0, 9]


def test_those_before_a_workers_first_measured_one_are_unknown() -> None:
    found = with_estimates(columns(worker=[1, 0, 1, 0], load_us=[10, 10, 10, 10], cpu_us=[NAN, 4, 8, NAN]))
    assert np.isnan(found["cpu_us"][0])
    assert found["cpu_us"][1:].tolist() == [4, 8, 4]


def test_of_a_worker_that_measured_none_nothing_is_known_nor_of_the_training_process() -> None:
    found = with_estimates(columns(worker=[0, 2, NAN, NAN], load_us=[10] * 4, cpu_us=[4, NAN, 5, NAN]))
    assert found["cpu_us"].tolist()[::2] == [4, 5]
    assert np.isnan(found["cpu_us"][[1, 3]]).all()


def test_what_was_measured_of_none_stays_unknown() -> None:
    found = with_estimates(columns(worker=[0, 0], load_us=[10, 10], cpu_us=[4, NAN], runqueue_us=[NAN, NAN]))
    assert found["cpu_us"].tolist() == [4, 4]
    assert np.isnan(found["runqueue_us"]).all()


def test_joining_the_samples_of_a_long_batch_takes_what_it_did_before_and_no_more_than_loading() -> None:
    found = with_estimates(columns(worker=[0] * 3, load_us=[100, 9_000, 20], collate_us=[40, NAN, NAN]))
    assert found["collate_us"].tolist() == [40, 40, 20]
