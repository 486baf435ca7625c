"""``/hosts`` over HTTP."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from tests.app.made_hosts import READ_PER_S, made_samples
from tests.app.store.posting import post
from underfed_server.model import HostsPage, SeriesPage
from underfed_server.store.databases import tables
from underfed_server.store.store import Store


def ask(client: TestClient, **query: str) -> HostsPage:
    response = client.get("/api/v1/hosts", params=query)
    assert response.status_code == 200, response.text
    return HostsPage.model_validate(response.json())


def test_hosts_are_listed_without_history_and_shown_one_by_one_with_it(client: TestClient, store: Store) -> None:
    post(store, made_samples("a"))
    post(store, made_samples("b", hostname="node-2"))
    page = ask(client)
    assert ([host.hostname for host in page.hosts], page.history) == (["node-1", "node-2"], None)
    page = ask(client, hostname="node-2", buckets="60")
    assert [host.hostname for host in page.hosts] == ["node-2"]
    assert page.history is not None
    assert (page.history.to_at - page.history.from_at).total_seconds() == 3_600
    assert page.history.to_at == page.hosts[0].last_seen_at
    assert {len(series.values) for series in page.history.series} == {60}


@pytest.mark.sql
def test_a_host_that_is_long_gone_from_the_list_still_has_its_history(client: TestClient, store: Store) -> None:
    post(store, made_samples("old", hostname="gone", started_at="2026-10-01T10:00:00Z"))
    store.write(
        lambda connection: connection.execute(
            update(tables.run).values(last_seen_at=datetime(2026, 10, 1, 10, 1, tzinfo=timezone.utc))
        )
    )
    page = ask(client, hostname="gone", from_at="2026-10-01T10:00:00Z", to_at="2026-10-01T10:00:20Z", buckets="20")
    assert (page.hosts, page.history and [run.run_id for run in page.history.runs]) == ([], ["old"])


@pytest.mark.parametrize(
    ("query", "status", "field"),
    [
        ({"hostname": "nowhere"}, 404, "hostname"),
        ({"hostname": "node-1", "from_at": "2026-11-20T11:00:00Z", "to_at": "2026-11-20T10:00:00Z"}, 422, "from_at"),
        ({"hostname": "node-1", "from_at": "2026-09-20T11:00:00Z", "to_at": "2026-11-20T10:00:00Z"}, 422, "from_at"),
        ({"hostname": "node-1", "from_at": "2026-11-20T11:00:00"}, 422, "from_at"),
        ({"hostname": "node-1", "to_at": "1763700000"}, 422, "to_at"),
        ({"hostname": "node-1", "buckets": "0"}, 422, "buckets"),
    ],
)
def test_what_cannot_be_answered_is_refused_by_name(
    client: TestClient, store: Store, query: dict[str, str], status: int, field: str
) -> None:
    post(store, made_samples("a"))
    response = client.get("/api/v1/hosts", params=query)
    assert (response.status_code, response.json()["error"]["field"]) == (status, field)


def test_a_run_shows_the_traffic_of_its_host_and_its_own_cores(client: TestClient, store: Store) -> None:
    post(store, made_samples("a", cores=1.5))
    metrics = ("disk_read_bytes_per_s", "disk_written_bytes_per_s", "own_cores")
    response = client.get("/api/v1/runs/a/series", params={"metric": metrics, "buckets": 1})
    read, written, own = SeriesPage.model_validate(response.json()).series
    assert (read.mean, read.unit, own.mean) == ([READ_PER_S], "bytes_per_s", [1.5])
    assert written.missing == "not measured"


def test_why_a_host_has_no_disks_is_said(client: TestClient, store: Store) -> None:
    post(store, made_samples("a", not_measured={"disks": "no disk of this host can be seen from here"}))
    response = client.get("/api/v1/runs/a/series", params={"metric": "disk_written_bytes_per_s"})
    assert response.json()["series"][0]["missing"] == "no disk of this host can be seen from here"
    assert ask(client).hosts[0].not_measured == {"disks": "no disk of this host can be seen from here"}
