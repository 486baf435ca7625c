"""The team read from a store of several runs: shared causes, hit rates, and who lost how much."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.made_diagnosis import made_cause, made_diagnosis, made_entry
from tests.app.made_windows import RUN, made_window
from tests.app.store.clock import WallClock
from tests.app.store.posting import post
from underfed_server.store.store import Store
from underfed_server.team.overview import read_team
from underfed_server.team.shared import read_shared

PLACE = {
    "mount": "/data",
    "file_system": "nfs4",
    "device": "nas:/x",
    "kind": "network",
    "files_seen": 3,
    "example": None,
}
STEPS = {
    "loader": "train", "epoch_index": 0, "first_step_index": 0, "first_batch_index": 0, "start_us": 0,
    "step_us": [3_000_000_000] * 2, "data_wait_us": [0] * 2,
}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path}/underfed.db", now=WallClock())
    yield opened
    opened.close()


def judge(store: Store, run_id: str, *, cause: str = "storage_wait", **said: Any) -> None:
    """A run from 10 to 12 o'clock on a network mount, judged."""
    window = made_window(0, run_id=run_id, end_us=6_000_000_000, steps=[STEPS])
    window["run"] = RUN | said
    window["storage"] = [{"loader": "train", **PLACE}]
    post(store, [window])
    store.save_diagnosis(made_diagnosis(run_id, causes=[made_cause(cause)]))


def test_what_several_runs_lost_is_told_together(store: Store) -> None:
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


def test_a_run_is_told_whom_it_shares_its_cause_with_before_its_verdict_is_saved(store: Store) -> None:
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
