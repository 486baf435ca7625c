"""How metrics went, as the page asks for them."""

from __future__ import annotations

import math

import pytest
from starlette.testclient import TestClient

from tests.app.made_loops import Thread, zipped
from tests.app.made_windows import RUN, made_stream, made_window
from tests.app.store.posting import post, samples
from underfed_server.diagnose import Diagnoser
from underfed_server.measurements import METRICS, HostRows
from underfed_server.model import Series, SeriesPage
from underfed_server.store.columns.lanes import HOST
from underfed_server.store.columns.stall import stall_us
from underfed_server.store.store import Store


def ask(client: TestClient, query: str) -> SeriesPage:
    response = client.get(f"/api/v1/runs/run-1/series?{query}")
    assert response.status_code == 200, response.text
    return SeriesPage.model_validate(response.json())


def one(client: TestClient, query: str) -> Series:
    return ask(client, query).series[0]


@pytest.mark.reads
def test_every_metric_can_be_asked_for_at_once(client: TestClient, recorded: Store) -> None:
    page = ask(client, "&".join(f"metric={name}" for name in METRICS) + "&buckets=50")
    assert [series.metric for series in page.series] == list(METRICS)
    assert (page.rank, page.loader) == (0, "train")
    for series in page.series:
        lengths = {len(column) for column in (series.at_us, series.first_index, series.count, series.mean, series.max)}
        assert len(lengths) == 1
        assert (series.at_us == []) == (series.missing is not None), series.metric


@pytest.mark.reads
def test_metrics_of_the_steps_share_their_buckets(client: TestClient, recorded: Store) -> None:
    page = ask(client, "metric=step_us&metric=data_wait_us&metric=queue_depth&buckets=40")
    assert len({tuple(series.at_us) for series in page.series}) == 1
    assert sum(page.series[0].count) == 2_000
    assert sum(page.series[2].count) < 2_000  # of what was measured


@pytest.mark.reads
def test_a_stall_fraction_is_that_of_the_summed_times(client: TestClient, recorded: Store) -> None:
    steps = recorded.steps("run-1", 0, "train")
    stall = stall_us(steps.data_wait_us, steps.gpu_idle_us, steps.queue_depth)
    series = one(client, "metric=data_stall_fraction&buckets=1")
    assert series.mean == [pytest.approx(stall.sum() / steps.step_us.sum(), abs=1e-6)]
    assert series.max == [pytest.approx((stall / steps.step_us).max(), abs=1e-6)]


@pytest.mark.reads
def test_compute_is_what_the_wait_leaves_of_a_step(client: TestClient, recorded: Store) -> None:
    steps = recorded.steps("run-1", 0, "train")
    assert one(client, "metric=compute_us&buckets=4000").mean == (steps.step_us - steps.data_wait_us).tolist()


@pytest.mark.reads
def test_a_stretch_of_steps_brings_the_samples_and_batches_of_its_time(client: TestClient, recorded: Store) -> None:
    page = ask(client, "metric=step_us&metric=busy_cores&metric=load_us&from_step=400&to_step=600&buckets=4000")
    step, cores, load = page.series
    assert (step.first_index[0], step.first_index[-1], len(step.mean)) == (400, 599, 200)
    starts, host, batches = (
        recorded.steps("run-1", 0, "train"),
        samples(recorded, HostRows, HOST),
        recorded.batches("run-1", 0, "train"),
    )
    from_us, to_us = starts.start_us[400], starts.start_us[600]
    assert cores.at_us == [at for at in host.at_us.tolist() if from_us <= at < to_us]
    assert from_us <= min(load.at_us) <= max(load.at_us) <= to_us
    assert sum(load.count) == ((batches.start_us >= from_us) & (batches.start_us < to_us)).sum()


@pytest.mark.sql
@pytest.mark.reads
def test_a_stretch_beyond_the_end_has_nothing(client: TestClient, recorded: Store) -> None:
    page = ask(client, "metric=step_us&metric=busy_cores&metric=load_us&from_step=2000")
    assert {series.missing for series in page.series} == {"nothing was recorded here"}


def test_what_was_not_measured_says_why(client: TestClient, store: Store) -> None:
    windows = list(made_stream(2))
    for window in windows:
        del window["gpus"]
    post(store, windows)
    assert one(client, "metric=gpu_util_fraction").missing == "no NVIDIA driver"
    assert one(client, "metric=gpu_power_w").missing == "no NVIDIA driver"
    assert one(client, "metric=h2d_us").missing == "not measured"
    assert one(client, "metric=step_us&loader=val").missing == "nothing was recorded here"
    assert one(client, "metric=step_us&rank=3").missing == "nothing was recorded here"


def test_a_reason_sent_with_the_loader_is_given_too(client: TestClient, store: Store) -> None:
    loader = {"loader": "train", "not_measured": {"queue_depth": "no qsize on this system"}}
    windows = list(made_stream(1, loaders=[loader]))
    windows[0]["steps"][0]["queue_depth"] = None
    post(store, windows)
    assert one(client, "metric=queue_depth").missing == "no qsize on this system"


def test_a_run_without_a_step_has_no_series_and_no_loader(client: TestClient, store: Store) -> None:
    post(store, [made_window(0)])
    page = ask(client, "metric=step_us&metric=busy_cores")
    assert page.loader is None
    assert {series.missing for series in page.series} == {"nothing was recorded here"}


def test_a_rank_shows_the_host_and_gpu_that_another_rank_of_its_host_samples(client: TestClient, store: Store) -> None:
    gpus = [{"gpu_index": index, "at_us": [1], "util_fraction": [index / 10]} for index in (4, 5)]
    first = made_window(0, run=RUN | {"local_rank": 0}, gpus=gpus, host={"at_us": [1], "busy_cores": [2.5]})
    second = made_window(0, rank=1, run=RUN | {"local_rank": 1})
    elsewhere = made_window(0, rank=2, run=RUN | {"local_rank": 0, "hostname": "node-2"})
    post(store, [first, second, elsewhere])
    assert one(client, "metric=busy_cores&rank=1").mean == [2.5]
    assert one(client, "metric=gpu_util_fraction&rank=0").mean == [0.4]
    assert one(client, "metric=gpu_util_fraction&rank=1").mean == [0.5]
    assert one(client, "metric=busy_cores&rank=2").missing == "nothing was recorded here"


@pytest.mark.reads
def test_samples_of_a_worker_are_asked_for_by_its_number(client: TestClient, recorded: Store) -> None:
    (first, second) = recorded.workers("run-1", 0, "train")
    assert one(client, "metric=worker_rss_bytes&buckets=4000").mean == first.samples.rss_bytes.tolist()
    assert one(client, "metric=worker_rss_bytes&worker=1&buckets=4000").mean == second.samples.rss_bytes.tolist()
    assert one(client, "metric=worker_rss_bytes&worker=2").missing == "nothing was recorded here"
    assert one(client, "metric=worker_pss_bytes").missing == "not measured"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("metric=step_us&metric=colour", "metric"),
        ("", "metric"),
        ("metric=step_us&buckets=0", "buckets"),
        ("metric=step_us&buckets=4001", "buckets"),
        ("metric=step_us&from_step=-1", "from_step"),
        ("metric=step_us&from_step=9&to_step=9", "to_step"),
        ("metric=step_us&rank=x", "rank"),
        ("metric=worker_threads&worker=-1", "worker"),
    ],
)
@pytest.mark.reads
def test_an_invalid_query_is_refused_by_name(client: TestClient, recorded: Store, query: str, field: str) -> None:
    response = client.get(f"/api/v1/runs/run-1/series?{query}")
    assert response.status_code == 422
    assert response.json()["error"]["field"] == field


@pytest.mark.reads
def test_of_an_unknown_metric_it_is_said_which_are_known(client: TestClient, recorded: Store) -> None:
    message = client.get("/api/v1/runs/run-1/series?metric=colour").json()["error"]["message"]
    assert "'colour'" in message
    assert all(name in message for name in METRICS)


def test_the_last_step_may_be_open_and_is_not_counted_as_zero(client: TestClient, store: Store) -> None:
    windows = list(made_stream(1))
    windows[0]["steps"][0]["step_us"][-1] = None
    post(store, windows)
    series = one(client, "metric=step_us&buckets=4000")
    assert series.mean[-1] is None
    assert series.count[-1] == 0
    assert all(value is not None and math.isfinite(value) for value in series.mean[:-1])
    steps = windows[0]["steps"][0]
    stall = sum(wait / 2 if ready else wait
                for wait, ready in zip(steps["data_wait_us"][:-1], steps["queue_depth"][:-1], strict=True))  # fmt: skip
    share = one(client, "metric=data_stall_fraction&buckets=1")
    assert share.mean == [pytest.approx(stall / sum(steps["step_us"][:-1]), abs=1e-6)]


def others_wait(client: TestClient, query: str) -> Series:
    return one(client, f"metric=others_wait_us&{query}")


def zip_two(store: Store, steps: int = 200) -> None:
    thread = Thread(images=2, labels=0)
    zipped(thread, steps, work=36, images=4, labels=60)
    post(store, [thread.window()])
    Diagnoser()(store, "run-1")


@pytest.mark.parametrize(("loader", "waits_us"), [("labels", 4_000), ("images", 60_000)])
@pytest.mark.parametrize("buckets", [4, 60, 4_000])
def test_a_step_has_the_waits_for_the_other_loaders_of_its_loop(
    client: TestClient, store: Store, loader: str, waits_us: int, buckets: int
) -> None:
    zip_two(store)
    series = others_wait(client, f"loader={loader}&buckets={buckets}")
    assert series.unit == "us"
    inner = [value for value in series.mean[:-1] if value is not None]
    assert len(inner) == len(series.mean) - 1
    assert sum(inner) / len(inner) == pytest.approx(waits_us, rel=0.03)
    assert set(series.max) == {None}


def test_what_a_stretch_of_steps_waits_for_others_is_of_that_stretch(client: TestClient, store: Store) -> None:
    thread = Thread(images=2, labels=0)
    for labels in (10, 90):
        zipped(thread, 60, work=36, images=4, labels=labels)
    post(store, [thread.window()])
    Diagnoser()(store, "run-1")
    early = others_wait(client, "loader=images&buckets=1&from_step=0&to_step=50").mean
    late = others_wait(client, "loader=images&buckets=1&from_step=65&to_step=110").mean
    assert [*early, *late] == pytest.approx([10_000, 90_000], rel=0.05)


def test_the_waits_of_a_validation_are_in_no_step_of_the_training(client: TestClient, store: Store) -> None:
    thread = Thread(train=0, val=0)
    for _ in range(3):
        thread.run_through("train", 40, 20, 30)
        thread.run_through("val", 20, 80, 10)
    post(store, [thread.window()])
    Diagnoser()(store, "run-1")
    series = others_wait(client, "loader=train")
    assert (series.mean, series.missing) == ([], "not measured")
