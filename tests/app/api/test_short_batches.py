"""Runs of short batches, of which workers measured few: what the facts, the API and its series make of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.app.made_windows import made_window
from tests.app.store.posting import post_split
from underfed_server.diagnosis.measures import load_share, mean
from underfed_server.facts.condense import condense
from underfed_server.model import WorkersPage
from underfed_server.store.reading.series import read_series, read_sums
from underfed_server.store.store import Store

WINDOWS, BATCHES = 40, 50
EACH_MEASURED, EACH_LONG = 20, 50
SHORT_US, LONG_US = 100, 5_000
BLOCKED_SHARE = LONG_US / (LONG_US + (EACH_LONG - 1) * SHORT_US)
NAMES = ["cpu_us", "blocked_us", "read_bytes"]


def window(index: int) -> dict[str, Any]:
    """Of batches of two workers, which compute for a short time; each fiftieth reads for a long one. As agents do, they
    measure each long one, if only when it is over."""
    first = BATCHES * index
    is_longs = [(first + row) % EACH_LONG == 7 for row in range(BATCHES)]
    is_due = [(first + row) // 2 % EACH_MEASURED == 0 for row in range(BATCHES)]

    def measured(short: int, long: int) -> list[int | None]:
        both = zip(is_due, is_longs, strict=True)
        return [long if is_long else short if due else None for due, is_long in both]

    steps = {"epoch_index": 0, "first_step_index": first, "first_batch_index": first, "start_us": 10_000 * index}
    batches = {
        "epoch_index": 0,
        "batch_index": list(range(first, first + BATCHES)),
        "worker": [row % 2 for row in range(BATCHES)],
        "start_us": [10_000 * index + 200 * row for row in range(BATCHES)],
        "load_us": [LONG_US if is_long else SHORT_US for is_long in is_longs],
        "cpu_us": [0 if is_long else SHORT_US for is_long in is_longs],
        "runqueue_us": measured(0, 0),
        "blocked_us": measured(0, LONG_US),
        "collate_us": [0 if due else None for due in is_due],
        "read_bytes": measured(0, 4096),
    }
    return made_window(
        index,
        start_us=10_000 * index,
        end_us=10_000 * (index + 1),
        steps=[{"loader": "train", **steps, "step_us": [200] * BATCHES, "data_wait_us": [20] * BATCHES}],
        batches=[{"loader": "train", **batches}],
    )


@pytest.mark.parametrize("after", [(), (WINDOWS,), (3, 11, 30)], ids=["all hot", "one chunk", "several"])
def test_long_batches_that_are_all_measured_weigh_no_more_than_they_are(
    client: TestClient, store: Store, after: Sequence[int]
) -> None:
    post_split(store, [window(index) for index in range(WINDOWS)], after)
    facts = condense(store, "run-1", choose=lambda _, __: "train", warmup_steps=0, judged_steps=2_000)
    (rank,) = facts.ranks
    assert load_share(rank, rank.batches.blocked_us) == pytest.approx(BLOCKED_SHARE, rel=0.03)
    assert load_share(rank, rank.batches.cpu_us) == pytest.approx(1 - BLOCKED_SHARE, rel=0.03)
    assert mean(rank.batches.read_bytes) == pytest.approx(4096 / EACH_LONG, rel=0.05)
    shown = WorkersPage.model_validate(client.get("/api/v1/runs/run-1/workers").json()).workers
    assert [each.worker for each in shown] == [0, 1]
    assert shown[0].blocked_fraction == 0
    # All that are long are this worker's.
    of_one = 2 * LONG_US / (2 * LONG_US + (EACH_LONG - 2) * SHORT_US)
    assert shown[1].blocked_fraction == pytest.approx(of_one, rel=0.03)
    with store.reading() as reader:
        sums = read_sums(reader, "run-1", 0, "batches:train", [*NAMES, "load_us"])
        rollup = read_series(reader, "run-1", 0, "batches:train", names=NAMES, buckets=4)
        single = read_series(reader, "run-1", 0, "batches:train", names=["blocked_us"], buckets=WINDOWS * BATCHES)
    rows = WINDOWS * BATCHES
    assert sums["blocked_us"] / sums["load_us"] == pytest.approx(BLOCKED_SHARE, rel=0.03)
    for found in (rollup, single):
        assert found is not None
        assert found.stats["blocked_us"].count.sum() == rows
    assert rollup is not None
    assert rollup.stats["read_bytes"].sum.sum() == pytest.approx(4096 * rows / EACH_LONG, rel=0.01)


def test_single_batches_are_shown_as_they_were_measured(client: TestClient, store: Store) -> None:
    post_split(store, [window(0)], ())
    (recorded,) = window(0)["batches"]
    batches = client.get("/api/v1/runs/run-1/timeline").json()["batches"]
    assert [each["blocked_us"] for each in batches] == recorded["blocked_us"]
    assert None in recorded["blocked_us"]
