"""Shared causes: which runs share a cause, and which are slow independently."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from underfed_server.model import StorageKind
from underfed_server.store.team.team_runs import HostUse, MountUse, TeamRun
from underfed_server.team.shared_causes import shared_causes, shared_with

NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)


def mount(hostname: str, kind: StorageKind = "network", path: str = "/data", device: str | None = "nas:/x") -> MountUse:
    return MountUse(hostname, path, device, kind)


def run(run_id: str, hours: tuple[float, float] = (0.0, 2.0), **changes: Any) -> TeamRun:
    """A run that waited for storage for an hour; ``hours`` from noon on are its life."""
    usual: dict[str, Any] = {
        "name": run_id, "project": "vision", "user": "ada", "cause": "storage_wait", "hours_lost": 1.0,
        "hours_used": 2.0, "hosts": (), "mounts": (mount("node-1"),),
    }  # fmt: skip
    started_at, ended_at = (NOON + timedelta(hours=each) for each in hours)
    return TeamRun(run_id=run_id, started_at=started_at, ended_at=ended_at, **(usual | changes))


def grouped(*runs: TeamRun) -> list[tuple[str, list[str]]]:
    return [(cause.place, sorted(each.run_id for each in cause.runs)) for cause in shared_causes(runs)]


def on(cause: str, *, shares: bool = True, hostname: str = "node-1") -> dict[str, Any]:
    return {"cause": cause, "hosts": (HostUse(hostname, 1, shares, shares),), "mounts": ()}


def test_runs_on_several_hosts_that_wait_for_one_network_mount_share_it() -> None:
    elsewhere = run("b", mounts=(mount("node-2", path="/mnt/x"),), hours_lost=3.0)
    (cause,) = shared_causes([run("a"), elsewhere])
    assert (cause.cause, cause.kind, cause.place, cause.hours_lost) == ("storage_wait", "mount", "nas:/x", 4.0)
    assert [each.run_id for each in cause.runs] == ["b", "a"], "most hours lost first"
    assert cause.sentence == "2 runs wait for storage at nas:/x at the same time."


def test_a_disk_is_shared_on_its_own_host_only() -> None:
    runs = [
        run(name, mounts=(mount(host, "ssd", device="sda1"),)) for name, host in (("a", "n1"), ("b", "n1"), ("c", "n2"))
    ]
    assert grouped(*runs) == [("/data on n1", ["a", "b"])]
    assert grouped(*[run(name, mounts=(mount("n1", "memory"),)) for name in "ab"]) == []


def test_runs_one_after_the_other_share_nothing() -> None:
    assert grouped(run("a", (0, 2)), run("b", (2, 4))) == []
    assert grouped(run("a", (0, 2)), run("b", (1.9, 4))) == [], "a hand-over"
    assert grouped(run("a", (0, 2)), run("b", (1.5, 4))) == [("nas:/x", ["a", "b"])]


def test_a_run_that_overlaps_two_joins_them() -> None:
    first, last, long = run("a", (0, 1)), run("b", (3, 4)), run("c", (0, 4))
    assert grouped(first, last) == []
    assert grouped(first, last, long) == [("nas:/x", ["a", "b", "c"])]
    assert [len(cause.runs) for cause in shared_with(first, [last, long])] == [2], "those that it met"


@pytest.mark.parametrize("cause", ["cpu_limited", "memory_pressure"])
def test_a_host_is_shared_by_runs_that_are_not_confined_to_a_part_of_it(cause: str) -> None:
    both = run("a", **on(cause)), run("b", **on(cause))
    assert grouped(*both) == [("node-1", ["a", "b"])]
    assert grouped(both[0], run("b", **on(cause, shares=False))) == []
    assert grouped(both[0], run("b", **on(cause, hostname="node-2"))) == []


def test_causes_that_are_a_run_s_own_are_never_shared() -> None:
    assert grouped(*[run(name, cause="no_workers") for name in "ab"]) == []
    assert grouped(run("a"), run("b", cause="slow_collate")) == []
    assert shared_with(run("a"), [run("a")]) == []
