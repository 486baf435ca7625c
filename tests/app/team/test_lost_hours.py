"""The team read from a store of several runs: shared causes, hit rates, and who lost how much."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.made_diagnosis import made_advice, made_cause, made_diagnosis, made_entry
from tests.app.made_windows import LOADER, RUN, made_window
from tests.app.store.clock import WallClock
from tests.app.store.listing import listed
from tests.app.store.posting import post
from underfed_server.model import Advice
from underfed_server.store.store import Store
from underfed_server.team.lost_hours import read_team, written
from underfed_server.team.shared_causes import read_shared

PLACE = {
    "mount": "/data",
    "file_system": "nfs4",
    "device": "nas:/x",
    "kind": "network",
    "files_seen": 3,
    "example": None,
}
NOTHING: dict[str, float | None] = {"low": None, "high": None}
STEPS = {
    "loader": "train", "epoch_index": 0, "first_step_index": 0, "first_batch_index": 0, "start_us": 0,
    "step_us": [3_000_000_000] * 2, "data_wait_us": [0] * 2,
}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path}/underfed.db", now=WallClock())
    yield opened
    opened.close()


def judge(
    store: Store, run_id: str, *, cause: str = "storage_wait", speedup: float | None = None,
    interval: dict[str, float | None] = NOTHING, **said: Any,
) -> None:  # fmt: skip
    """A run from 10 to 12 o'clock on a network mount, judged: it lost 2 of 5 hours."""
    window = made_window(0, run_id=run_id, end_us=6_000_000_000, steps=[STEPS])
    window["run"] = RUN | said
    window["storage"] = [{"loader": "train", **PLACE}]
    window["loaders"] = [LOADER | {"dataset_type": "ImageFolder"}]
    post(store, [window])
    advice = [] if speedup is None else [Advice.model_validate(dict(made_advice(speedup)) | interval)]
    store.save_diagnosis(made_diagnosis(run_id, causes=[made_cause(cause)], advice=advice))


def test_what_several_runs_lost_is_summed(store: Store) -> None:
    judge(store, "a", user="ada", hostname="node-1")
    judge(store, "b", user="bob", hostname="node-2")
    judge(store, "c", user="bob", hostname="node-2", cause="no_workers")
    team = read_team(store)
    (shared,) = team.shared_causes
    assert (shared.place, sorted(run.run_id for run in shared.runs), shared.hours_lost) == ("nas:/x", ["a", "b"], 4.0)
    assert [(group.name, group.hours_lost, group.hours_used) for group in team.users] == [
        ("bob", 4.0, 10.0), ("ada", 2.0, 5.0),
    ]  # fmt: skip
    assert [group.name for group in team.hosts] == ["node-2", "node-1"]
    assert [(group.name, group.hours_lost) for group in team.projects] == [("vision", 6.0)]


def test_mounts_share_the_hours_of_a_run_by_the_files_that_all_its_ranks_have_seen(store: Store) -> None:
    judge(store, "a", hostname="node-1")
    places = [
        {"loader": "train", **PLACE},
        {"loader": "train", **PLACE, "device": "nas:/y", "mount": "/y", "files_seen": 2},
    ]
    post(store, [made_window(0, run_id="a", rank=1, run=RUN | {"hostname": "node-1"}, storage=places)])
    team = read_team(store)
    assert [(group.name, group.hours_lost) for group in team.mounts] == [("nas:/x", 1.5), ("nas:/y", 0.5)]
    assert [(group.name, group.hours_lost) for group in team.hosts] == [("node-1", 2.0)]


def test_a_run_shows_with_whom_it_shares_its_cause_before_its_verdict_is_saved(store: Store) -> None:
    judge(store, "a")
    judge(store, "b", cause="no_workers")
    found = made_diagnosis("b", causes=[made_cause("storage_wait")], hours_lost=7.0)
    (shared,) = read_shared(store, found)
    assert [(run.run_id, run.hours_lost) for run in shared.runs] == [("b", 7.0), ("a", 2.0)]
    assert read_shared(store, made_diagnosis("b", causes=[made_cause("slow_collate")])) == []
    assert read_shared(store, made_diagnosis("b", causes=[])) == []


def test_hit_rates_count_each_later_run_once(store: Store) -> None:
    judge(store, "earlier")
    judge(store, "later")
    entry = made_entry("later", 1.5)
    for run_id in ("earlier", "later"):
        store.save_diagnosis(made_diagnosis(run_id, ledger=[entry]))
    (every, _) = read_team(store).hit_rates
    assert (every.proven, every.predicted, every.inside) == (1, 0, 0)


def test_hours_of_before_this_week_are_left_out(store: Store) -> None:
    judge(store, "a")
    clock = store.now
    assert isinstance(clock, WallClock)
    clock.advance(days=8)
    assert (read_team(store).users, read_team(store).shared_causes) == ([], [])


def test_recoverable_is_what_the_best_advice_would_have_saved(store: Store) -> None:
    judge(store, "a", user="ada", speedup=1.25, interval={"low": 1.1, "high": 1.3})
    judge(store, "b", user="bob", speedup=5.0, interval={"low": 4.0, "high": 6.0})
    judge(store, "c", user="cy")
    team = read_team(store)
    users = {group.name: group for group in team.users}
    ada, bob = users["ada"], users["bob"]
    assert ada.hours_recoverable == pytest.approx(5.0 * (1 - 1 / 1.25))
    assert ada.hours_recoverable_low == pytest.approx(5.0 * (1 - 1 / 1.1))
    assert (bob.hours_recoverable, bob.hours_recoverable_high) == (2.0, 2.0), "never more than was lost"
    assert users["cy"].hours_recoverable is None, "nothing was predicted, which is not nothing to gain"
    assert (team.hours.runs, team.hours.hours_lost) == (3, 6.0)
    assert team.hours.hours_recoverable == pytest.approx(3.0)


def test_an_advice_without_an_interval_leaves_none_to_the_sum(store: Store) -> None:
    judge(store, "a", speedup=1.2, interval={"low": 1.1, "high": 1.3})
    judge(store, "b", speedup=1.2)
    hours = read_team(store).hours
    assert hours.hours_recoverable == pytest.approx(2 * 5.0 * (1 - 1 / 1.2))
    assert (hours.hours_recoverable_low, hours.hours_recoverable_high) == (None, None)


def test_a_gain_that_may_be_none_is_not_counted_as_recoverable(store: Store) -> None:
    judge(store, "a", speedup=1.05, interval={"low": 0.9, "high": 1.2})
    assert read_team(store).hours.hours_recoverable is None


def test_of_a_gain_in_one_loop_what_the_run_gains_is_recoverable(store: Store) -> None:
    run = {"run_speedup": 1.19, "run_low": 1.15, "run_high": 1.22}
    judge(store, "a", speedup=1.67, interval={"low": 1.5, "high": 1.8, **run})
    hours = read_team(store).hours
    assert hours.hours_recoverable == pytest.approx(5.0 * (1 - 1 / 1.19))
    assert hours.hours_recoverable_low == pytest.approx(5.0 * (1 - 1 / 1.15))
    assert hours.hours_recoverable_high == pytest.approx(5.0 * (1 - 1 / 1.22))


def test_of_runs_with_gpus_and_without_it_is_said_how_many_hours_gpus_lost(store: Store) -> None:
    judge(store, "a")
    judge(store, "b")
    store.save_diagnosis(made_diagnosis("b", gpu_hours_lost=2.0))
    team = read_team(store)
    assert (team.on_gpu, team.hours.hours_lost, team.gpu_hours_lost) == (False, 4.0, 2.0)


def test_data_sets_and_mounts_have_their_hours_and_each_group_is_found_by_its_search(store: Store) -> None:
    judge(store, "a", user="ada", hostname="node-1")
    judge(store, "b", user="bob", hostname="node-2")
    team = read_team(store)
    assert [(group.name, group.runs, group.hours_lost) for group in team.datasets] == [
        ("ImageFolder at nas:/x", 2, 4.0)
    ]
    assert [(group.name, group.hours_lost) for group in team.mounts] == [("nas:/x", 4.0)]
    for groups in (team.projects, team.users, team.datasets, team.mounts, team.hosts):
        for group in groups:
            assert group.search is not None
            assert len(listed(store, q=group.search).runs) == group.runs, group.search


def test_a_name_with_a_quote_has_no_search() -> None:
    assert (written("user", 'a"b'), written("user", "a, b")) == (None, 'user="a, b"')
