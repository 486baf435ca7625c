"""Lives of worker processes, what was sampled of them, and where the data lie: as last reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sqlalchemy import func, select

from tests.app.made_windows import RUN, made_stream, made_window
from tests.app.store.clock import WallClock
from tests.app.store.posting import KEY, post
from underfed_server.store.databases import tables
from underfed_server.store.reading.details import read_epochs, read_epochs_of
from underfed_server.store.reading.worker_lives import read_workers, read_workers_of
from underfed_server.store.store import Store
from underfed_server.store.writing.compact import compact

HOUR_US = 3_600_000_000


def life(worker: int, iterator: int = 0, **said: Any) -> dict[str, Any]:
    usual = {"loader": "train", "iterator_index": iterator, "worker": worker, "pid": 100 + worker}
    return {**usual, "epoch_index": iterator, "start_us": 1_000 * iterator, **said}


def samples(worker: int, at_us: list[int], **columns: Any) -> dict[str, Any]:
    return {"loader": "train", "worker": worker, "at_us": at_us, **columns}


def epoch(loader: str, index: int) -> dict[str, Any]:
    return {"loader": loader, "epoch_index": index, "start_us": 1_000 * index, "first_step_index": 10 * index}


def place(mount: str, **said: Any) -> dict[str, Any]:
    return {"loader": "train", "mount": mount, "kind": "nvme", "files_seen": 3, **said}


def test_a_life_is_reported_when_it_begins_and_again_when_it_ends(store: Store) -> None:
    post(store, [made_window(0, workers=[life(0), life(1)])])
    assert [each.lives[0].ended for each in store.workers("run-1", 0, "train")] == [None, None]
    post(store, [made_window(1, workers=[life(0, end_us=900, ended="returned"), life(1, end_us=950, ended="died")])])
    first, second = store.workers("run-1", 0, "train")
    assert [(one.pid, one.start_us, one.end_us, one.ended) for one in first.lives] == [(100, 0, 900, "returned")]
    assert (second.lives[0].ended, dict(first.ended), dict(second.ended)) == ("died", {"returned": 1}, {"died": 1})


@pytest.mark.sql
def test_lives_of_one_worker_are_distinguished_by_their_iterator_the_newest_twenty_of_them(store: Store) -> None:
    lives = [life(0, iterator, end_us=1_000 * iterator + 999, ended="returned") for iterator in range(30)]
    post(store, [made_window(0, workers=lives)])
    (only,) = store.workers("run-1", 0, "train")
    assert [one.iterator_index for one in only.lives] == list(range(10, 30))
    assert dict(only.ended) == {"returned": 30}, "all are counted"
    assert store.worker_loader("run-1", 0) == "train"
    assert store.worker_loader("run-1", 1) is None


def test_workers_of_another_loader_or_rank_are_others(store: Store) -> None:
    post(store, [made_window(0, workers=[life(0), life(7, loader="val")], worker_samples=[samples(3, [5])])])
    post(store, [made_window(0, rank=1, workers=[life(9)])])
    assert [each.worker for each in store.workers("run-1", 0, "train")] == [0, 3]
    assert [each.worker for each in store.workers("run-1", 0, "val")] == [7]
    assert [each.worker for each in store.workers("run-1", 1, "train")] == [9]


@pytest.mark.sql
def test_several_ranks_are_read_as_each_alone(store: Store) -> None:
    for rank in range(3):
        lives = [
            life(worker, iterator, end_us=1_000 * iterator + 9, ended="died")
            for worker, iterator in ((0, 0), (rank, 1))
        ]
        beside = [life(9, loader="val")]
        post(store, [made_window(0, rank=rank, workers=lives + beside, worker_samples=[samples(5 + rank, [rank])])])
    with store.reading() as reader:
        together = read_workers_of(reader, "run-1", [2, 0], "train")
        assert list(together) == [2, 0]
        assert [each.worker for each in together[2]] == [0, 2, 7]
        assert [(each.lives, dict(each.ended)) for each in together[2]] == [
            (each.lives, dict(each.ended)) for each in read_workers(reader, "run-1", 2, "train")
        ]
        assert [each.samples.at_us.tolist() for each in together[0]] == [[], [0.0]]


@pytest.mark.sql
def test_of_several_ranks_and_loaders_each_has_as_many_epochs_as_are_asked_of_it(store: Store) -> None:
    for rank in range(2):
        epochs = [epoch(name, index) for name in ("train", "val") for index in range(4 + rank)]
        post(store, [made_window(0, rank=rank, epochs=epochs)])
    asked = {(0, "train"): 2, (1, "train"): 3, (1, "val"): 1, (2, "val"): 7}
    with store.reading() as reader:
        found = read_epochs_of(reader.connection, "run-1", asked)
        assert {place: [each.epoch_index for each in own] for place, own in found.items()} == {
            (0, "train"): [2, 3],
            (1, "train"): [2, 3, 4],
            (1, "val"): [4],
            (2, "val"): [],
        }
        assert found[1, "train"] == read_epochs(reader.connection, "run-1", 1, "train", 3)
        assert read_epochs_of(reader.connection, "run-1", {}) == {}


@pytest.mark.parametrize("loader", ["a:b", "worker:0:train", "train "])
def test_a_loader_may_be_called_anything(store: Store, loader: str) -> None:
    post(store, [made_window(0, worker_samples=[samples(4, [5], threads=[2]) | {"loader": loader}])])
    (only,) = store.workers("run-1", 0, loader)
    assert (only.worker, only.samples.threads.tolist()) == (4, [2])
    assert store.workers("run-1", 0, "train") == []


def test_samples_are_those_of_the_process_that_lives_now(store: Store) -> None:
    post(store, [made_window(0, workers=[life(0)], worker_samples=[samples(0, [10, 500], cpu_us=[1, 90])])])
    post(store, [made_window(1, workers=[life(0, 1)], worker_samples=[samples(0, [1_500, 2_000], cpu_us=[2, 3])])])
    store.write(lambda connection: compact(connection, KEY))
    (only,) = store.workers("run-1", 0, "train")
    assert only.samples.cpu_us.tolist() == [1, 90, 2, 3]
    assert only.newest_samples.cpu_us.tolist() == [2, 3]
    assert np.isnan(only.newest_samples.pss_bytes).all()


def test_a_life_whose_beginning_was_not_seen_begins_after_the_one_before(store: Store) -> None:
    begun = [life(0, end_us=600, ended="returned"), life(0, 1, start_us=None)]
    post(store, [made_window(0, workers=begun, worker_samples=[samples(0, [10, 500, 900], cpu_us=[1, 90, 2])])])
    (only,) = store.workers("run-1", 0, "train")
    assert [one.start_us for one in only.lives] == [0, None]
    assert only.newest_samples.cpu_us.tolist() == [2]


def test_lives_of_a_restarted_rank_are_on_the_clock_of_the_run(store: Store) -> None:
    post(store, [made_window(0, workers=[life(0, end_us=50, ended="died")])])
    later = {"incarnation": 2, "started_at": "2026-11-20T11:00:00Z"}
    post(store, [made_window(0, workers=[life(0, start_us=7)], **later)])
    (only,) = store.workers("run-1", 0, "train")
    assert [(one.start_us, one.ended) for one in only.lives] == [(0, "died"), (HOUR_US + 7, None)]
    (died,) = store.run("run-1").died_workers
    assert (died.rank, died.loader, died.worker, died.pid, died.end_us) == (0, "train", 0, 100, 50)


def test_workers_that_died_at_one_instant_stand_in_their_order(store: Store) -> None:
    dead = [life(worker, end_us=50, ended="died") for worker in (2, 0, 1)]
    post(store, [made_window(0, rank=1, workers=[dead[0]]), made_window(0, workers=[*dead[1:], life(3)])])
    assert [(one.rank, one.worker) for one in store.run("run-1").died_workers] == [(0, 0), (0, 1), (1, 2)]


def test_places_are_replaced_and_each_host_names_its_own_once(store: Store) -> None:
    other = RUN | {"hostname": "node-2"}
    post(store, [made_window(0, storage=[place("/cache", kind="memory"), place("/data")])])
    post(store, [made_window(1, storage=[place("/data", files_seen=9, device="nvme0n1", example="/data/a.jpg")])])
    post(store, [made_window(0, rank=1, storage=[place("/data", files_seen=5)])])
    post(store, [made_window(0, rank=2, run=other, storage=[place("/data", kind="network")])])
    found = [(each.hostname, each.mount, each.kind, each.files_seen) for each in store.run("run-1").storage]
    assert found == [
        ("node-1", "/cache", "memory", 3),
        ("node-1", "/data", "nvme", 5),
        ("node-2", "/data", "network", 3),
    ]


def test_where_a_scheduler_has_a_run_is_kept_and_pods_are_those_of_its_ranks(store: Store) -> None:
    described = RUN | {"slurm_job_id": "4711", "namespace": "team-a", "train_job": "llama", "queue": "gpu"}
    for rank in (1, 0, 2):
        post(store, [made_window(0, rank=rank, run=described | {"pod": f"llama-{rank % 2}"})])
    run = store.run("run-1")
    assert (run.slurm_job_id, run.namespace, run.train_job, run.queue) == ("4711", "team-a", "llama", "gpu")
    assert run.pods == ["llama-0", "llama-1"]


def test_what_launched_a_run_and_what_its_host_has_is_kept(store: Store) -> None:
    host = {"cpu_count": 8, "open_files_limit": 1_024, "numa_nodes": 2, "memory_available_bytes": 2**33}
    host_described = host | {"gpu_driver": "580.95.05"}
    described = RUN | {"launcher": "torchrun", "restart_count": 3, "started_by": "run", "host": host_described}
    described |= {"cuda_version": "13.0", "cudnn_version": "9.20.0"}
    epoch = {"loader": "train", "epoch_index": 0, "start_us": 0, "first_step_index": 0, "sampler_us": 40}
    post(store, [made_window(0, run=described, epochs=[epoch])])
    run = store.run("run-1")
    assert (run.launcher, run.restart_count, run.started_by) == ("torchrun", 3, "run")
    assert (run.cuda_version, run.hip_version, run.cudnn_version) == ("13.0", None, "9.20.0")
    assert run.hosts[0].gpu_driver == "580.95.05"
    assert (run.hosts[0].open_files_limit, run.hosts[0].numa_nodes) == (1_024, 2)
    assert run.hosts[0].memory_available_bytes == 2**33
    assert run.epochs[0].sampler_us == 40


def test_a_run_without_a_loader_says_why_in_the_list_until_another_rank_has_one(store: Store) -> None:
    why = "no loader seen: torch was never imported"
    post(store, [made_window(0, run=RUN | {"not_measured": {"loader": why}}, loaders=[])])
    assert store.summary("run-1").no_loader == why
    post(store, made_stream(1, rank=1))
    assert store.summary("run-1").no_loader is None


@pytest.mark.sql
def test_a_deleted_run_leaves_no_life_and_no_place(store: Store, clock: WallClock) -> None:
    for run_id in ("run-1", "run-2"):
        ended = {"end": {"status": "finished"}, "workers": [life(0)], "storage": [place("/data")]}
        post(store, [made_window(0, run_id=run_id, worker_samples=[samples(0, [1])], **ended)])
    store.delete_run("run-1")
    clock.advance(days=31)
    while (forgettable := store.forgettable()) is not None:
        store.forget_some(forgettable)
    with store.reading() as reader:
        for table in (tables.worker_life, tables.storage, tables.track):
            left = select(table.c.run_id, func.count()).group_by(table.c.run_id)
            assert [run_id for run_id, _ in reader.connection.execute(left)] == ["run-2"], table.name
