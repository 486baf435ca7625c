"""Hosts read from a store of several runs: who uses what of them now, over time, and who competes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from tests.app.made_diagnosis import made_cause, made_diagnosis
from tests.app.made_hosts import READ_PER_S, SENT_PER_S, made_samples
from tests.app.store.posting import post, settle
from underfed_server.model import Host, HostSeries
from underfed_server.store.store import Store
from underfed_server.team.current_hosts import read_hosts
from underfed_server.team.host_history import read_history

START = datetime(2026, 11, 20, 10, 0, tzinfo=timezone.utc)


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    opened = Store(database_url, now=lambda: START + timedelta(seconds=20))
    yield opened
    opened.close()


def one(store: Store, **asked: Any) -> Host:
    (found,) = read_hosts(store, **asked).hosts
    return found


def ended(windows: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    *most, last = windows
    return [*most, last | {"end": {"status": "finished"}}]


def test_cores_are_distinguished_by_who_keeps_them_busy(store: Store) -> None:
    post(store, made_samples("a", cores=2.0, busy=5.0, name="resnet"))
    post(store, made_samples("b", cores=1.5, busy=5.0, name="vit"))
    host = one(store)
    assert (host.hostname, host.is_live, [run.name for run in host.runs]) == ("node-1", True, ["resnet", "vit"])
    assert [run.own_cores for run in host.runs] == [2.0, 1.5]
    assert (host.cores.own, host.cores.others, host.cores.idle) == (3.5, 1.5, 3.0)
    assert (host.memory_used_bytes, host.memory_limit_bytes, host.shm_used_bytes) == (16 << 30, 64 << 30, 8 << 30)
    assert host.competing == []


def test_every_rank_of_a_run_counts(store: Store) -> None:
    post(store, made_samples("a", rank=0, cores=1.0))
    post(store, made_samples("a", rank=1, cores=0.5, samples_host=False))
    host = one(store)
    assert (host.runs[0].ranks, host.runs[0].own_cores, host.cores.own) == (2, 1.5, 1.5)


def test_what_is_used_now_is_of_the_newest_window_if_that_has_two_samples(store: Store) -> None:
    *before, last = made_samples("a", cores=1.0, busy=5.0)
    at_us, cpu_us = last["process"]["at_us"][0], last["process"]["process_cpu_us"][0]
    last["process"] = {
        "at_us": [at_us, at_us + 1_000_000],
        "process_cpu_us": [cpu_us, cpu_us + 3_000_000],
        "workers_cpu_us": [cpu_us, cpu_us],
    }
    last["host"] = {"at_us": [at_us, at_us + 1_000_000], "busy_cores": [5.0, 4.0]}
    post(store, [*before, last])
    cores = one(store).cores
    assert (cores.own, cores.busy, cores.others) == (3.0, 4.0, 1.0)


def test_what_is_not_measured_of_one_run_is_nobodys_share(store: Store) -> None:
    post(store, made_samples("a", cores=2.0, busy=5.0))
    for window in made_samples("b"):
        post(store, [{key: part for key, part in window.items() if key != "process"}])
    cores = one(store).cores
    assert (cores.busy, cores.own, cores.others, cores.idle) == (5.0, None, None, None)
    assert cores.missing == "the CPU time of a run on it was not measured"


@pytest.mark.sql
def test_runs_that_may_use_different_cpus_do_not_show_who_uses_the_rest(store: Store) -> None:
    half = {"cpu_count": 8, "allowed_cpus": 4, "usable_cores": 4.0}
    post(store, made_samples("a", host=half))
    post(store, made_samples("b", host=half))
    cores = one(store).cores
    assert (cores.others, cores.idle) == (None, None)
    assert cores.missing is not None and "different CPUs" in cores.missing


def test_others_are_never_less_than_nothing(store: Store) -> None:
    post(store, made_samples("a", cores=3.2, busy=3.0))
    cores = one(store).cores
    assert cores.own == pytest.approx(3.2)
    assert cores.idle == pytest.approx(4.8)
    assert cores.others == 0.0


def test_runs_that_leave_no_core_idle_compete(store: Store) -> None:
    post(store, made_samples("a", cores=4.0, busy=7.9, name="resnet"))
    post(store, made_samples("b", cores=2.0, busy=7.9, name="vit"))
    assert one(store).competing == [
        "resnet and vit compete for 8 cores, of which 0.1 are idle.",
        "Other processes keep 1.9 of the 8 cores busy that resnet and vit may use.",
    ]


def test_runs_that_wait_for_one_mount_now_are_named_on_their_hosts(store: Store) -> None:
    place = {"loader": "train", "mount": "/data", "kind": "network", "device": "nas:/x", "files_seen": 3}
    for run_id, hostname in (("a", "node-1"), ("b", "node-2")):
        windows = list(made_samples(run_id, hostname=hostname))
        windows[0]["storage"] = [place]
        post(store, windows)
        store.save_diagnosis(made_diagnosis(run_id, causes=[made_cause("storage_wait")]))
    assert [host.competing for host in read_hosts(store).hosts] == [
        ["2 runs wait for storage at nas:/x at the same time."]
    ] * 2


def test_traffic_stands_beside_the_most_that_was_seen_there(store: Store) -> None:
    post(store, made_samples("a"))
    host = one(store)
    assert (host.disk_read.now, host.disk_read.most) == (READ_PER_S, None), "no chunk yet: nothing to compare with"
    assert (host.disk_written.now, host.network_received.now) == (None, None)
    post(store, ended(made_samples("before", started_at="2026-11-20T09:59:40Z")))
    settle(store)
    host = one(store)
    assert (host.disk_read.most, host.network_sent.most, host.disk_written.most) == (READ_PER_S, SENT_PER_S, None)


def test_a_host_without_a_running_run_is_described_by_the_last_one(store: Store) -> None:
    post(store, ended(made_samples("a", name="resnet")))
    settle(store)
    host = one(store)
    assert (host.is_live, [run.name for run in host.runs], host.earlier_runs) == (False, ["resnet"], 0)
    assert (host.facts.cpu_count, host.cores.usable) == (8, 8.0)
    assert (host.cores.own, host.cores.missing, host.disk_read.now) == (None, "no run reports from it now", None)


def test_a_gpu_shows_the_run_that_computes_on_it(store: Store) -> None:
    devices = [
        {"gpu_index": index, "uuid": f"GPU-{index}", "name": "H200", "memory_total_bytes": None} for index in (0, 1)
    ]
    for run_id, own in (("a", [True, False]), ("b", [False, True])):
        windows = list(made_samples(run_id, devices=devices))
        for window in windows:
            at_us = window["host"]["at_us"]
            window["gpus"] = [
                {"gpu_index": index, "at_us": at_us, "util_fraction": [0.25 * (index + 1)], "own_process": [own[index]]}
                for index in (0, 1)
            ]
        post(store, windows)
    store.save_diagnosis(made_diagnosis("b", data_stall_fraction=0.4))
    gpus = one(store).gpus
    assert [(gpu.run_id, gpu.util_fraction, gpu.data_stall_fraction) for gpu in gpus] == [
        ("a", 0.25, None),
        ("b", 0.5, 0.4),
    ]


@pytest.mark.sql
def test_a_project_sees_its_own_runs_and_all_else_as_others(store: Store) -> None:
    post(store, made_samples("a", cores=2.0, busy=5.0))
    post(store, made_samples("b", cores=2.0, busy=5.0, project="speech"))
    host = one(store, projects=frozenset(("vision",)))
    assert ([run.run_id for run in host.runs], host.cores.own, host.cores.others) == (["a"], 2.0, 3.0)
    assert read_hosts(store, frozenset(("nobody",)), hostname="node-1").hosts == []


@pytest.mark.sql
def test_over_time_each_run_adds_to_what_ours_use(store: Store) -> None:
    post(store, ended(made_samples("a", cores=2.0, busy=5.0, seconds=10)))
    settle(store)
    post(store, made_samples("b", cores=1.0, busy=4.0, seconds=10, started_at="2026-11-20T10:00:10Z"))
    found = read_history(store, "node-1", START - timedelta(seconds=10), START + timedelta(seconds=20), 30)
    assert [run.run_id for run in found.runs] == ["a", "b"]
    assert found.bucket_us == 1_000_000
    series: dict[str, HostSeries] = {each.metric: each for each in found.series}
    own, others, read = (series[name].values for name in ("own_cores", "other_cores", "disk_read_bytes_per_s"))
    assert own[:11] == [None] * 11, "before there was a second sample nothing is known"
    assert (own[11:20], others[11:20]) == ([2.0] * 9, [3.0] * 9)
    assert (own[21:], others[21:]) == ([1.0] * 9, [3.0] * 9)
    assert read[11:20] == [READ_PER_S] * 9
    assert series["shm_used_bytes"].values[12] == 8 << 30
    assert (series["disk_written_bytes_per_s"].values, series["disk_written_bytes_per_s"].missing) == (
        [None] * 30, "nothing was measured in this time",
    )  # fmt: skip


def test_a_counter_that_begins_anew_is_not_negative_traffic(store: Store) -> None:
    windows = list(made_samples("a"))
    for window in windows[10:]:
        window["host"]["disk_read_bytes"] = [value - 10 * READ_PER_S for value in window["host"]["disk_read_bytes"]]
    post(store, windows)
    (series,) = [each for each in read_history(store, "node-1", START, START + timedelta(seconds=20), 20).series
                 if each.metric == "disk_read_bytes_per_s"]  # fmt: skip
    assert series.values[9:12] == [READ_PER_S, None, READ_PER_S]


def test_a_database_that_nobody_used_has_no_host(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/empty.db")
    assert read_hosts(store).hosts == []
    store.close()
