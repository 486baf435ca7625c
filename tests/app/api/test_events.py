"""The live stream: over real HTTP, with a judge behind it."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.app.event_stream import Stream
from tests.app.made_diagnosis import made_diagnosis
from tests.app.made_windows import made_stream, made_window
from tests.app.serving import AS_OWNER, poll, serving, settings_for
from tests.app.store.posting import post
from underfed_server.api import due_runs, event_streams, scheduler
from underfed_server.diagnose import FoundDiagnosis, found_in
from underfed_server.main import Application, create_app
from underfed_server.model import RunEvent, RunSummary
from underfed_server.store.reading.spark import Curve
from underfed_server.store.store import Store


class Judge:
    """A judge that notes its calls and finds something new each time, except in a steady run."""

    def __init__(self) -> None:
        self.judged: list[str] = []
        self.judged_at: list[float] = []
        self._busy_with: str | None = None
        self._is_free = threading.Event()

    @contextmanager
    def busy_with(self, run_id: str) -> Iterator[None]:
        """Meanwhile the run's judgement does not end."""
        self._busy_with = run_id
        try:
            yield
        finally:
            self._is_free.set()

    def __call__(self, _: Store, run_id: str) -> tuple[FoundDiagnosis | None, Curve]:
        self.judged.append(run_id)
        if run_id == self._busy_with:
            self._is_free.wait(60)
        self.judged_at.append(time.monotonic())
        if run_id == "spoilt":
            raise ValueError("on purpose")
        found = 20 if run_id == "steady" else len(self.judged)
        return found_in(made_diagnosis(run_id, judged_steps=found)), [0.5]


@pytest.fixture
def judge() -> Judge:
    return Judge()


@pytest.fixture
def application(tmp_path: Path, judge: Judge, monkeypatch: pytest.MonkeyPatch) -> Iterator[Application]:
    monkeypatch.setattr(due_runs, "APART_S", 0.1)
    # One after the other, by many threads: those that wait for it have chosen no run yet.
    monkeypatch.setattr(scheduler, "AHEAD", 1)
    yield create_app(settings_for(tmp_path), judge, judged_at_once=6)


@pytest.fixture
def address(application: Application, tmp_path: Path) -> Iterator[str]:
    with serving(application, settings_for(tmp_path)) as served:
        yield served


def a_run() -> RunSummary:
    said = {"run_id": "run-1", "project": "", "name": "", "job": "", "user": "", "status": "running"}
    said |= {"bound": "unknown", "level": "unknown", "started_at": "2026-11-20T10:00:00Z"}
    said |= {"last_seen_at": "2026-11-20T10:00:00Z"}
    lists: dict[str, Any] = {"tags": {}, "spark": [], "hostnames": [], "steps": 0, "world_size": 1}
    return RunSummary.model_validate(dict.fromkeys(RunSummary.model_fields) | {"is_final": False} | said | lists)


def ask(address: str, method: str, path: str) -> bytes:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=20)
    connection.request(method, path, "{}", {"Content-Type": "application/json", **AS_OWNER})
    answer = connection.getresponse()
    assert answer.status < 300
    body = answer.read()
    connection.close()
    return body


def store_of(application: Application) -> Store:
    return application.parts.store


def test_a_window_reaches_every_stream_that_watches_its_run(application: Application, address: str) -> None:
    everything, mine, another = (
        Stream(address, query) for query in ("topic=runs", "topic=run:run-1&topic=run:x", "topic=run:run-2")
    )
    assert everything.response.headers["content-type"].startswith("text/event-stream")
    assert everything.response.headers.get("content-encoding") is None
    post(store_of(application), made_stream(1))
    _, seen = everything.event()
    assert (seen.topic, seen.run.run_id, seen.run.steps, seen.diagnosis_changed) == ("runs", "run-1", 20, True)
    _, seen = mine.event()
    assert (seen.topic, seen.run.bound) == ("run:run-1", "data")
    post(store_of(application), made_stream(1, run_id="run-2"))
    _, seen = another.event()
    assert seen.run.run_id == "run-2"  # and nothing of run-1 came before
    for each in (everything, mine, another):
        each.close()


def test_a_run_that_was_judged_alike_has_the_diagnosis_it_had(application: Application, address: str) -> None:
    watching = Stream(address, "topic=runs")
    first, second = made_stream(2, run_id="steady")
    for window, is_new in ((first, True), (second, False)):
        post(store_of(application), [window])
        assert watching.event()[1].diagnosis_changed is is_new
    watching.close()


def test_a_run_that_is_deleted_and_brought_back_is_reported_as_such(application: Application, address: str) -> None:
    watching = Stream(address, "topic=runs&topic=run:run-1")
    post(store_of(application), [made_window(0, end={"status": "finished"})])
    watching.event()  # of its end
    watching.event()
    ask(address, "DELETE", "/api/v1/runs/run-1")
    events = [watching.event()[1] for _ in range(2)]
    assert [(each.topic, each.run.run_id, each.deleted) for each in events] == [
        ("runs", "run-1", True),
        ("run:run-1", "run-1", True),
    ]
    ask(address, "POST", "/api/v1/runs/run-1/restore")
    assert not watching.event()[1].deleted
    watching.close()


def test_a_stream_that_resumes_has_what_was_deleted_meanwhile() -> None:
    gone = a_run().model_copy(update={"deleted_at": datetime(2026, 11, 20, tzinfo=timezone.utc)})

    async def read() -> str:
        text = event_streams.Events(lambda _: [gone]).watch(["runs"], since=gone.started_at)
        return "".join([await anext(text), await anext(text)])

    sent = asyncio.run(read())
    assert RunEvent.model_validate_json(sent.split("data: ")[1].strip()).deleted


def test_topics_share_one_stream(application: Application, address: str) -> None:
    both = Stream(address, "topic=runs&topic=run:run-1")
    post(store_of(application), made_stream(1))
    assert [both.event()[1].topic for _ in range(2)] == ["runs", "run:run-1"]
    both.close()


@pytest.mark.usefixtures("address")
def test_the_curve_is_that_which_was_read_with_a_judgement_or_is_read_where_it_failed(application: Application) -> None:
    store = store_of(application)
    for run_id in ("run-1", "spoilt"):
        post(store, made_stream(1, run_id=run_id))
    poll(lambda: store.unjudged() == [])
    assert store.summary("run-1").spark == [0.5]
    assert len(store.summary("spoilt").spark) > 1


@pytest.mark.usefixtures("address")
def test_a_run_is_judged_when_its_windows_come_and_not_for_each(
    application: Application, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_runs, "APART_S", 3_600.0)
    first, *rest = made_stream(50)
    post(store_of(application), [first])
    poll(lambda: judge.judged)
    post(store_of(application), rest)
    post(store_of(application), made_stream(1, run_id="run-2"))
    # Whoever is due first is judged first.
    poll(lambda: "run-2" in judge.judged)
    assert judge.judged == ["run-1", "run-2"]


def test_a_verdict_that_somebody_waits_for_is_given_before_all_else(
    application: Application, address: str, judge: Judge
) -> None:
    """Of a run that has ended."""
    store = store_of(application)
    with judge.busy_with("busy"):
        post(store, made_stream(1, run_id="busy"))
        poll(lambda: judge.judged)
        for run_id in ("run-1", "run-2", "run-3"):
            post(store, [*made_stream(1, run_id=run_id), made_window(1, run_id=run_id, end={"status": "finished"})])
        ask(address, "GET", "/api/v1/runs/run-2/diagnosis")
    poll(lambda: len(judge.judged) > 1)
    assert judge.judged[:2] == ["busy", "run-2"]


@pytest.mark.usefixtures("address")
def test_a_run_that_has_ended_is_judged_before_those_that_run(application: Application, judge: Judge) -> None:
    store = store_of(application)
    with judge.busy_with("busy"):
        post(store, made_stream(1, run_id="busy"))
        poll(lambda: judge.judged)
        for run_id in ("run-1", "run-2", "run-3"):
            post(store, made_stream(1, run_id=run_id))
        post(store, [made_window(1, run_id="run-2", end={"status": "finished"})])
    poll(lambda: len(judge.judged) > 1)
    assert judge.judged[:2] == ["busy", "run-2"]


@pytest.mark.usefixtures("address")
def test_runs_that_fall_silent_are_looked_for_while_a_judgement_hangs(
    application: Application, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Store] = []

    def silent(store: Store) -> list[str]:
        looked.append(store)
        return []

    monkeypatch.setattr(scheduler, "SWEEP_S", 0.05)
    monkeypatch.setattr(Store, "unjudged", silent)
    with judge.busy_with("busy"):
        post(store_of(application), made_stream(1, run_id="busy"))
        poll(lambda: judge.judged)
        before = len(looked)
        poll(lambda: len(looked) > before + 2)
        assert judge.judged_at == [], "it still hangs"


def test_a_verdict_that_holds_is_confirmed_and_found_anew_once_it_does_not(
    application: Application, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is more to judge than time."""
    monkeypatch.setattr(scheduler, "SWEEP_S", 0.05)
    monkeypatch.setattr(due_runs, "SPARED", 1e9)
    monkeypatch.setattr(due_runs, "CONFIRM_S", 0.05)
    monkeypatch.setattr(scheduler, "CONFIRM_EVERY_S", 0.05)
    store, steps = store_of(application), made_stream(6, steps=2_000, run_id="steady")
    post(store, [next(steps), made_window(0, run_id="other")])
    poll(lambda: {"steady", "other"} <= set(judge.judged))
    poll(lambda: application.parts.scheduler._due._apart_s > 1)
    before, saved = judge.judged.count("steady"), store.diagnosis("steady")
    post(store, [next(steps)])
    poll(lambda: "steady" not in store.unjudged())
    assert judge.judged.count("steady") == before
    assert store.diagnosis("steady") == saved
    post(store, [next(steps) | {"end": {"status": "finished"}}])
    poll(lambda: judge.judged.count("steady") > before)


def test_no_run_is_chosen_once_it_closes(application: Application, judge: Judge) -> None:
    with judge.busy_with("busy"):
        post(store_of(application), made_stream(1, run_id="busy"))
        poll(lambda: judge.judged)
        for number in range(4):
            post(store_of(application), made_stream(1, run_id=f"run-{number}"))
        application.close()
    threads = application.parts.scheduler._threads
    poll(lambda: not any(each.is_alive() for each in threads))
    assert judge.judged == ["busy"]


def test_the_health_check_tells_how_long_judging_lags(application: Application, address: str, judge: Judge) -> None:
    def lag_s() -> float:
        return float(json.loads(ask(address, "GET", "/healthz"))["judging_lag_s"])

    with judge.busy_with("busy"):
        post(store_of(application), made_stream(1, run_id="busy"))
        poll(lambda: judge.judged)
        assert lag_s() == 0
        post(store_of(application), made_stream(1, run_id="waits"))
        poll(lambda: lag_s() > 0.1)
    poll(lambda: "waits" in judge.judged and lag_s() == 0)


@pytest.mark.soak
def test_a_run_is_not_judged_again_before_its_time(application: Application, address: str, judge: Judge) -> None:
    watching = Stream(address, "topic=runs")
    for window in made_stream(50):
        post(store_of(application), [window])
    while watching.event()[1].run.steps < 1_000:
        pass
    # From one turn to the next; a judge may be called a moment later in one than in the other.
    assert min(after - before for before, after in pairwise(judge.judged_at)) > due_runs.APART_S / 2
    watching.close()


def test_what_a_stream_could_not_send_in_time_is_not_forgotten() -> None:
    """Two events of a run before the stream gets its turn are one, and that the diagnosis changed stays true."""

    async def read() -> list[str]:
        events = event_streams.Events()
        text = events.watch(["runs"])
        parts = [await anext(text)]
        for changed in (True, False):
            events.publish(a_run(), diagnosis_changed=changed)
        parts.append(await anext(text))
        events.close()
        return [*parts, *[part async for part in text]]

    opened, event, *rest = asyncio.run(read())
    assert opened == ": open\n\n"
    assert RunEvent.model_validate(json.loads(event.split("data: ")[1])).diagnosis_changed
    assert rest == []


def test_a_judge_that_fails_does_not_keep_the_run_from_the_page(
    application: Application, address: str, judge: Judge, caplog: pytest.LogCaptureFixture
) -> None:
    watching = Stream(address, "topic=runs")
    post(store_of(application), [made_window(0, run_id="spoilt")])
    _, seen = watching.event()
    assert (seen.run.run_id, seen.diagnosis_changed, seen.run.bound) == ("spoilt", False, "unknown")
    assert "on purpose" in caplog.text
    post(store_of(application), [made_window(0)])
    assert watching.event()[1].run.run_id == "run-1"
    assert store_of(application).unjudged() == []
    watching.close()


def test_a_stream_that_broke_has_the_latest_state_when_it_comes_back(application: Application, address: str) -> None:
    store = store_of(application)
    first = Stream(address, "topic=runs")
    post(store, made_stream(1))
    number, _ = first.event()
    first.close()
    for run_id in ("run-2", "run-3"):
        post(store, made_stream(1, run_id=run_id))
    poll(lambda: store.unjudged() == [])
    again = Stream(address, "topic=runs", Last_Event_ID=number)
    runs = {again.event()[1].run.run_id for _ in range(2)}
    assert {"run-2", "run-3"} <= runs | {again.event()[1].run.run_id}
    one = Stream(address, "topic=run:run-3", Last_Event_ID=number)
    assert one.event()[1].run.run_id == "run-3"
    # As if the clock was set back since: every event that may have been missed is sent.
    from_ahead = Stream(address, "topic=runs", Last_Event_ID=str(int(number) + 3_600_000_000))
    assert {from_ahead.event()[1].run.run_id for _ in range(3)} == {"run-1", "run-2", "run-3"}
    for each in (again, one, from_ahead):
        each.close()


def test_a_change_by_a_person_is_an_event_too(application: Application, address: str) -> None:
    post(store_of(application), made_stream(1))
    poll(lambda: store_of(application).unjudged() == [])
    watching = Stream(address, "topic=run:run-1")
    edit(address, {"name": "baseline"})
    while watching.event()[1].run.name != "baseline":
        pass
    watching.close()


def edit(address: str, changes: dict[str, Any]) -> None:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=20)
    body = json.dumps(changes)
    said = {"Content-Type": "application/json", **AS_OWNER}
    connection.request("PATCH", "/api/v1/runs/run-1", body=body, headers=said)
    assert connection.getresponse().status == 200
    connection.close()


def test_a_silent_stream_still_beats(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert event_streams.HEARTBEAT_S <= 15
    monkeypatch.setattr(event_streams, "HEARTBEAT_S", 0.05)
    watching = Stream(address, "topic=runs")
    lines = [watching.line() for _ in range(8)]
    assert [line for line in lines if line] == [": open", *["event: beat", "data: {}"] * 2]
    watching.close()


@pytest.mark.parametrize("query", ["topic=hosts", "topic=run:a/b", "topic=runs&topic=", ""])
def test_a_topic_that_does_not_exist_is_named(address: str, query: str) -> None:
    refused = Stream(address, query)
    assert refused.response.status == 422
    assert json.loads(refused.response.read())["error"]["field"] == "topic"
    refused.close()


def test_a_slow_reader_gets_the_newest_state_and_not_a_backlog(application: Application, address: str) -> None:
    slow = Stream(address, "topic=runs")
    for window in made_stream(30):
        post(store_of(application), [window])
    poll(lambda: store_of(application).unjudged() == [])
    received = [slow.event()[1].run.steps]
    while received[-1] < 600:
        received.append(slow.event()[1].run.steps)
    assert received == sorted(received)
    slow.close()


def seconds_to_stop(application: Application, directory: Path) -> float:
    """A service with an open event stream."""
    ended = threading.Event()

    def read_to_the_end(watching: Stream) -> None:
        watching.response.read()
        watching.close()
        ended.set()

    with serving(application, settings_for(directory)) as address:
        reader = threading.Thread(target=read_to_the_end, args=(Stream(address, "topic=runs"),))
        reader.start()
        begun = time.monotonic()
    took = time.monotonic() - begun
    assert ended.wait(30)
    reader.join()
    return took


def test_a_service_that_stops_ends_its_streams(application: Application, tmp_path: Path) -> None:
    seconds_to_stop(application, tmp_path)


@pytest.mark.soak
def test_a_service_that_stops_ends_its_streams_at_once(application: Application, tmp_path: Path) -> None:
    assert seconds_to_stop(application, tmp_path) < 3
