"""Several services on one PostgreSQL: real processes, posts and streams that go to either of them."""

from __future__ import annotations

import http.client
import json
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest
from sqlalchemy import create_engine, text

from tests.app.alerts.receivers import receiving
from tests.app.api.visitors import ROOT
from tests.app.event_stream import Stream
from tests.app.made_windows import SOON_JUDGED, made_stream, made_window, posted
from tests.app.serving import Service, begin, poll, start_service, started
from tests.fakes import postgresql
from underfed_server.model import Alert, AlertsPage
from underfed_server.store.store import Store
from underfed_server.store.writing.compact import DUE_ROWS
from underfed_server.terminal.client import Client

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def database(postgresql_server: postgresql.Server) -> Iterator[str]:
    with postgresql_server.database() as url:
        yield url


@pytest.fixture(scope="module")
def services(database: str) -> Iterator[list[Service]]:
    """Of all tests that stop neither: each has runs of its own."""
    with two_on(database) as running:
        yield running


@pytest.fixture
def own_database(postgresql_server: postgresql.Server) -> Iterator[str]:
    with postgresql_server.database() as url:
        yield url


@pytest.fixture
def own_services(own_database: str) -> Iterator[list[Service]]:
    """To be stopped."""
    with two_on(own_database) as running:
        yield running


@contextmanager
def two_on(database: str, **environment: str) -> Iterator[list[Service]]:
    with TemporaryDirectory() as directory:
        running = [start_service(database, port=0, UNDERFED_DIR=directory, **environment) for _ in range(2)]
        try:
            yield running
        finally:
            for service in running:
                service.kill()


def post(service: Service, window: dict[str, Any]) -> tuple[int, Any]:
    """Status and answer."""
    connection = http.client.HTTPConnection(urlsplit(service.address).netloc, timeout=60)
    try:
        connection.request("POST", "/api/v1/ingest", body=posted(window), headers=JSON)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def post_in_turns(services: Sequence[Service], windows: Iterable[dict[str, Any]]) -> None:
    for index, window in enumerate(windows):
        status, answer = post(services[index % len(services)], window)
        assert (status, answer["next_window_index"]) == (200, window["window_index"] + 1)


def rows_of(database: str, statement: str) -> list[Any]:
    engine = create_engine(database)
    with engine.begin() as connection:
        found = connection.execute(text(statement)).all()
    engine.dispose()
    return list(found)


def steps_of(database: str, run_id: str) -> list[float]:
    """The lengths of all steps that are recorded, in order."""
    store = Store(database)
    try:
        recorded: list[float] = store.steps(run_id, 0, "train").step_us.tolist()
        return recorded
    finally:
        store.close()


def sent(windows: Iterable[dict[str, Any]]) -> list[float]:
    return [value for window in windows for value in window["steps"][0]["step_us"]]


def test_services_that_start_at_once_make_the_tables_once(postgresql_server: postgresql.Server) -> None:
    with postgresql_server.database(is_empty=True) as url:
        starting = [begin(url) for _ in range(3)]
        services = [started(process) for process in starting]
        try:
            assert all("postgresql+psycopg://" in service.said for service in services)
            post_in_turns(services, made_stream(6, **SOON_JUDGED))
        finally:
            for service in services:
                service.kill()
        assert len(rows_of(url, "SELECT version_num FROM alembic_version")) == 1


def test_windows_of_one_stream_may_go_to_either(services: list[Service], database: str) -> None:
    windows = list(made_stream(12, run_id="in-turns", **SOON_JUDGED))
    post_in_turns(services, windows)
    assert steps_of(database, "in-turns") == sent(windows)


def test_a_window_that_was_lost_on_the_way_is_asked_for_by_either(services: list[Service]) -> None:
    windows = list(made_stream(4, run_id="with-a-hole", **SOON_JUDGED))
    post_in_turns(services, windows[:2])
    for service in services:
        status, answer = post(service, windows[3])
        assert (status, answer["error"]["next_window_index"]) == (409, 2)


def test_a_window_that_reaches_both_at_once_is_kept_once(services: list[Service], database: str) -> None:
    """As when an agent sends again, through another service, what the first one is still writing."""
    runs = [f"at-both-{number}" for number in range(10)]
    streams = {
        run_id: list(made_stream(3, run_id=run_id, seed=seed, **SOON_JUDGED)) for seed, run_id in enumerate(runs)
    }
    with ThreadPoolExecutor(20) as pool:
        for index in range(3):
            posts = [pool.submit(post, service, streams[run_id][index]) for run_id in runs for service in services]
            assert {done.result()[0] for done in posts} == {200}
    for run_id in runs:
        assert steps_of(database, run_id) == sent(streams[run_id])


def test_ranks_of_one_run_that_start_through_both_are_all_there(services: list[Service], database: str) -> None:
    ranks = range(16)
    with ThreadPoolExecutor(16) as pool:
        run = {"run_id": "ranks"}
        first = [pool.submit(post, services[rank % 2], made_window(0, rank=rank, **run)) for rank in ranks]
        assert {done.result()[0] for done in first} == {200}
        end = {"status": "finished"}
        last = [pool.submit(post, services[1 - rank % 2], made_window(1, rank=rank, end=end, **run)) for rank in ranks]
        assert {done.result()[0] for done in last} == {200}
    of_run = "WHERE run_id = 'ranks'"
    assert rows_of(database, f"SELECT count(*) FROM rank {of_run}")[0][0] == 16
    assert rows_of(database, f"SELECT open_ranks, ended_at IS NOT NULL FROM run {of_run}") == [(0, True)]


def test_chunks_are_made_once_while_both_take_in(services: list[Service], database: str) -> None:
    due = DUE_ROWS // 200 + 2
    windows = list(made_stream(2 * due, steps=200, run_id="long"))

    def are_compacted(count: int) -> bool:
        of_lane = "WHERE run_id = 'long' AND lane = 'steps:train'"
        chunks = rows_of(database, f"SELECT ordinal FROM chunk {of_lane} ORDER BY ordinal")
        return [row.ordinal for row in chunks] == list(range(len(chunks))) and len(chunks) >= count

    # A chunk may have more rows than are due: those that came until it was computed.
    for number in range(2):
        post_in_turns(services, windows[number * due : (number + 1) * due])
        poll(partial(are_compacted, number + 1))
    assert steps_of(database, "long") == sent(windows)


def test_pages_of_one_see_what_another_took_in(services: list[Service]) -> None:
    watching = [Stream(service.address, "topic=run:seen") for service in services]
    post(services[0], next(iter(made_stream(1, run_id="seen", **SOON_JUDGED))))
    for stream in watching:
        _, event = stream.event()
        assert (event.run.run_id, event.run.steps) == ("seen", 20)
        stream.close()


def test_a_run_is_judged_by_one_and_by_the_other_when_that_one_stops(
    own_services: list[Service], own_database: str
) -> None:
    services, database = own_services, own_database
    windows = list(made_stream(12, **SOON_JUDGED))
    post_in_turns(services[:1], windows[:6])
    judges: list[str] = []

    def is_judged() -> bool:
        judges[:] = [row.judge for row in rows_of(database, "SELECT judge FROM run WHERE judge IS NOT NULL")]
        return bool(judges)

    poll(is_judged)
    first = judges[0]
    owner = services[0] if f":{services[0].process.pid}:" in first else services[1]
    other = services[1] if owner is services[0] else services[0]
    owner.process.send_signal(signal.SIGTERM)
    owner.process.wait(20)
    post_in_turns([other], windows[6:])
    poll(lambda: is_judged() and judges[0] != first)
    assert f":{other.process.pid}:" in judges[0]


@pytest.mark.parametrize(("after_s", "count"), [(None, 20), pytest.param(0.3, 80, marks=pytest.mark.soak)])
def test_nothing_acknowledged_is_lost_when_one_is_killed(
    own_services: list[Service], own_database: str, after_s: float | None, count: int
) -> None:
    """Between two posts, or at any moment."""
    services, windows = own_services, list(made_stream(count, **SOON_JUDGED))
    killer = threading.Timer(after_s or 0.0, services[0].process.kill)
    if after_s is not None:
        killer.start()
    for number, window in enumerate(windows):
        if number == count // 2 and after_s is None:
            killer.run()
        for service in (services[0], services[1]):
            try:
                status, _ = post(service, window)
            except OSError:
                continue
            assert status == 200
            break
    killer.finished.wait(30)
    assert steps_of(own_database, "run-1") == sent(windows)


def test_a_run_that_is_deleted_at_one_service_leaves_all_pages_and_comes_back_by_another(
    services: list[Service],
) -> None:
    post(services[0], made_window(0, run_id="gone", end={"status": "finished"}))
    watching = [Stream(service.address, "topic=run:gone") for service in services]
    connection = http.client.HTTPConnection(urlsplit(services[0].address).netloc, timeout=20)
    link = json.dumps({"token": services[0].owner_link.partition("=")[2]})
    connection.request("POST", "/api/v1/session", link, JSON)
    signed_in = connection.getresponse()
    signed_in.read()
    cookie = str(signed_in.headers["Set-Cookie"]).partition(";")[0]
    connection.request("DELETE", "/api/v1/runs/gone", headers={**JSON, "Cookie": cookie})
    assert connection.getresponse().status == 204
    for each in watching:
        while not each.event()[1].deleted:
            pass
    # Any of them lists and restores it, and all pages receive that.
    assert [run["run_id"] for run in get(services[1], "/api/v1/runs?deleted=true")["runs"]] == ["gone"]
    other = http.client.HTTPConnection(urlsplit(services[1].address).netloc, timeout=20)

    def restored() -> bool:
        """A session is known to the other service within a second."""
        other.request("POST", "/api/v1/runs/gone/restore", "{}", {**JSON, "Cookie": cookie})
        answer = other.getresponse()
        answer.read()
        return answer.status == 200

    poll(restored)
    for each in watching:
        while each.event()[1].deleted:
            pass
        each.close()
    for service in services:
        log = get(service, "/api/v1/audit?run_id=gone")["entries"]
        assert [(entry["action"], entry["by"]) for entry in log] == [("restored", "owner"), ("deleted", "owner")]
    connection.close()
    other.close()


def get(service: Service, path: str) -> Any:
    connection = http.client.HTTPConnection(urlsplit(service.address).netloc, timeout=20)
    try:
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def test_two_services_report_each_run_once(own_database: str) -> None:
    sending = {
        "UNDERFED_TOKEN": ROOT,
        "UNDERFED_SECRET_KEY": "a-key-that-both-processes-were-given",
        "UNDERFED_ALERT_NETWORKS": "127.0.0.1",
    }
    run_ids = [f"reported-{number}" for number in range(2)]
    with receiving() as receiver, two_on(own_database, **sending) as services:
        first, second = (Client(service.address, ROOT) for service in services)
        channel = first.make_channel({"name": "ops", "kind": "webhook", "url": receiver.url})
        second.make_alert_rule({"condition": "data_bound", "channel_id": channel.channel_id, "for_us": 0})
        for run_id in run_ids:
            for index, window in enumerate(made_stream(3, run_id=run_id, **SOON_JUDGED)):
                address = services[index % 2].address
                body, by_root = posted(window), {**JSON, "Authorization": f"Bearer {ROOT}"}
                assert httpx.post(f"{address}/api/v1/ingest", content=body, headers=by_root).status_code == 200
        for got in receiver.wait(len(run_ids)):
            assert got.verified(channel.secret or "")["type"] == "alert.raised"
        poll(lambda: {alert.state for alert in logged(first)} == {"sent"})
        assert sorted(each.json["data"]["run_id"] for each in receiver.got) == run_ids
        assert [(alert.run_id or "", alert.attempts) for alert in logged(second)] == [
            (alert.run_id, 1) for alert in logged(first)
        ]


def logged(client: Client) -> list[Alert]:
    answer = httpx.get(f"{client.url}/api/v1/alerts/log", headers={"Authorization": f"Bearer {client.token}"})
    return AlertsPage.model_validate_json(answer.text).alerts
