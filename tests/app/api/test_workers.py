"""What the API shows of each worker: its lives, memory, growth and threads; also without a batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.app.made_windows import made_stream, made_window
from tests.app.store.posting import post
from underfed_server.api.heatmap import heatmap
from underfed_server.model import Run, WorkersPage
from underfed_server.store.columns.ladder import summarise
from underfed_server.store.columns.lanes import batches_lane
from underfed_server.store.store import Store

SECOND_US = 1_000_000
BYTES = 500_000_000


def shown(client: TestClient, query: str = "") -> WorkersPage:
    return WorkersPage.model_validate(client.get(f"/api/v1/runs/run-1/workers{query}").json())


def life(worker: int, **said: Any) -> dict[str, Any]:
    return {"loader": "train", "iterator_index": 0, "worker": worker, "pid": 40 + worker, "start_us": 0, **said}


def grown(worker: int, seconds: Iterable[int], bytes_per_s: int) -> dict[str, Any]:
    """One sample a second, its own share in every tenth."""
    rss = [BYTES + bytes_per_s * second for second in seconds]
    return {
        "loader": "train",
        "worker": worker,
        "at_us": [SECOND_US * second for second in seconds],
        "rss_bytes": rss,
        "pss_bytes": [value // 4 if second % 10 == 0 else None for second, value in zip(seconds, rss, strict=True)],
        "threads": [3 + worker for _ in seconds],
    }


def test_a_worker_whose_memory_grows_is_distinguished_from_one_at_rest(client: TestClient, store: Store) -> None:
    sampled = [grown(0, range(0, 375, 3), 0), grown(1, range(0, 375, 3), 1_000_000)]
    post(store, [made_window(0, workers=[life(0), life(1)], worker_samples=sampled)])
    still, leaking = shown(client).workers
    assert (still.worker, still.rss_bytes, still.pss_bytes, still.threads) == (0, BYTES, BYTES // 4, 3)
    assert (still.rss_bytes_per_hour, still.pss_bytes_per_hour, still.is_growing) == (0, 0, False)
    assert leaking.rss_bytes == BYTES + 372_000_000
    assert leaking.rss_bytes_per_hour == pytest.approx(3.6e9)
    assert leaking.pss_bytes_per_hour == pytest.approx(0.9e9)
    assert (leaking.threads, leaking.is_growing) == (4, True)


def test_less_than_five_minutes_show_no_growth(client: TestClient, store: Store) -> None:
    post(store, [made_window(0, workers=[life(0)], worker_samples=[grown(0, range(0, 298, 3), 1_000_000)])])
    (only,) = shown(client).workers
    assert only.rss_bytes == BYTES + 297_000_000
    assert (only.rss_bytes_per_hour, only.pss_bytes_per_hour, only.is_growing) == (None, None, None)


def test_growth_is_that_of_the_newest_process_alone(client: TestClient, store: Store) -> None:
    began = [life(0, end_us=99 * SECOND_US, ended="returned"), life(0, iterator_index=1, start_us=100 * SECOND_US)]
    post(store, [made_window(0, workers=began, worker_samples=[grown(0, range(100), 5_000_000)])])
    post(store, [made_window(1, worker_samples=[grown(0, range(100, 500, 4), 0)])])
    (only,) = shown(client).workers
    assert (only.rss_bytes_per_hour, only.is_growing) == (0, False)
    assert [(one.iterator_index, one.ended) for one in only.lives] == [(0, "returned"), (1, None)]


def test_workers_that_died_before_a_batch_are_shown_without_load_times(client: TestClient, store: Store) -> None:
    died = life(1, end_us=7, ended="died")
    post(store, [made_window(0, workers=[life(0), died])])
    page = shown(client)
    assert (page.loader, page.missing) == ("train", "no batch was recorded")
    assert [(each.worker, each.batches, each.load_us_p50, each.died) for each in page.workers] == [
        (0, 0, None, 0),
        (1, 0, None, 1),
    ]
    run = Run.model_validate(client.get("/api/v1/runs/run-1").json())
    assert [(one.worker, one.pid, one.end_us) for one in run.died_workers] == [(1, 41, 7)]


def test_lives_stand_beside_load_times_and_pinning(client: TestClient, store: Store) -> None:
    windows = list(made_stream(3))
    windows[0]["workers"] = [life(0), life(1, end_us=5, ended="raised")]
    post(store, windows)
    page = shown(client)
    assert [(each.batches, len(each.lives), each.raised) for each in page.workers] == [(30, 1, 0), (30, 1, 1)]
    pinned = sorted(value for window in windows for value in window["batches"][0]["pin_us"])
    assert page.pin_us_p50 == round((pinned[29] + pinned[30]) / 2)


def test_batches_loaded_in_training_have_no_process_of_their_own(client: TestClient, store: Store) -> None:
    windows = list(made_stream(2))
    for window in windows:
        del window["batches"][0]["worker"], window["worker_samples"]
    post(store, windows)
    (only,) = shown(client).workers
    assert (only.worker, only.lives, only.rss_bytes, only.is_growing) == (None, [], None, None)


@pytest.mark.reads
def test_the_timeline_has_pinning_sampler_time_and_the_idle_device(client: TestClient, recorded: Store) -> None:
    timeline = client.get("/api/v1/runs/run-1/timeline").json()
    steps, batches = recorded.steps("run-1", 0, "train"), recorded.batches("run-1", 0, "train")
    first = timeline["steps"][0]
    assert first["sampler_us"] == steps.sampler_us[first["step_index"]]
    assert {step["gpu_idle_us"] is None for step in timeline["steps"]} == {True, False}
    assert {batch["pin_us"] for batch in timeline["batches"]} <= set(batches.pin_us.tolist())


def test_the_heat_map_of_some_steps_is_of_the_batches_of_their_time(client: TestClient, store: Store) -> None:
    post(store, list(made_stream(50)))
    steps, batches = store.steps("run-1", 0, "train"), store.batches("run-1", 0, "train")
    from_us, to_us = steps.start_us[400], steps.start_us[600]
    whole, zoomed = shown(client), shown(client, "?from_step=400&to_step=600")
    inside = (batches.start_us >= from_us) & (batches.start_us < to_us)
    assert whole.heatmap is not None and zoomed.heatmap is not None
    assert sum(map(sum, zoomed.heatmap.counts)) == inside.sum() < len(batches)
    assert from_us <= zoomed.heatmap.at_us[0] < zoomed.heatmap.end_us <= to_us + 1
    columns = (zoomed.heatmap.at_us[1] - zoomed.heatmap.at_us[0], whole.heatmap.at_us[1] - whole.heatmap.at_us[0])
    assert columns[0] < columns[1] / 2, "they are finer"
    assert zoomed.workers == whole.workers, "whose figures are of the newest batches, whatever is shown"


def test_a_heat_map_of_steps_that_are_not_there_is_none(client: TestClient, store: Store) -> None:
    post(store, list(made_stream(2)))
    assert shown(client, "?from_step=2000").heatmap is None
    answer = client.get("/api/v1/runs/run-1/workers?from_step=9&to_step=9")
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "to_step")


def test_a_heat_map_has_batches_that_took_no_time_at_all() -> None:
    columns = {"start_us": np.arange(4.0), "load_us": np.array([0.0, 0.0, 0.4, 5.0])}
    rollup = summarise(batches_lane("train"), columns, np.arange(4.0), [0], binned=["load_us"])
    found = heatmap(rollup, 10.0, None)
    assert found is not None
    assert sum(map(sum, found.counts)) == 4
