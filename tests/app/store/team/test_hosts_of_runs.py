"""On which hosts the runs of a team are, and what these said of themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from typing import Any

import pytest

from tests.app.made_diagnosis import made_diagnosis
from tests.app.made_windows import RUN, made_window
from tests.app.store.posting import post
from underfed_server.store.store import Store
from underfed_server.store.team import team_runs
from underfed_server.store.team.week import first_of_days
from underfed_server.team.lost_hours import DAYS

ALL_OF_IT = {"cpu_count": 8, "memory_total_bytes": 2**36}
LIMITED = {"cpu_count": 8, "quota_cores": 4.0, "memory_total_bytes": 2**36, "memory_limit_bytes": 2**32}


def begin(store: Store, run_id: str, *ranks: tuple[str, Mapping[str, Any] | None]) -> None:
    """A judged run; ``ranks``: the host of each, and what it says of that."""
    for rank, (hostname, facts) in enumerate(ranks):
        run = RUN | {"hostname": hostname, "host": facts}
        post(store, [made_window(0, run_id=run_id, rank=rank, run=run)])
    store.save_diagnosis(made_diagnosis(run_id, hours_lost=1.0, hours_used=2.0))


@pytest.mark.parametrize("at_once", [1, 2, 5_000])
def test_a_host_is_as_the_last_of_its_ranks_said_that_said_anything(
    store: Store, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(team_runs, "MOST_AT_ONCE", at_once)
    begin(store, "a", ("node-1", LIMITED), ("node-1", ALL_OF_IT), ("node-1", None))
    begin(store, "b", ("node-1", ALL_OF_IT), ("node-2", LIMITED), ("node-2", None))
    begin(store, "c", ("node-3", None))
    found = {run.run_id: run.hosts for run in store.team_history(first_of_days(DAYS, store.now()))}
    assert {run_id: [astuple(each) for each in hosts] for run_id, hosts in found.items()} == {
        "a": [("node-1", 3, True, True)],
        "b": [("node-1", 1, True, True), ("node-2", 2, False, False)],
        "c": [("node-3", 1, False, False)],
    }
