"""Many event streams cost one read and one text for all, and nobody has more than so many."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from tests.app.api.test_events import a_run
from tests.app.event_stream import Stream
from tests.app.serving import application_in, poll, serving, settings_for
from underfed_server.api import event_streams
from underfed_server.api.admission.access import PROXY_SAYS
from underfed_server.api.event_streams import Events
from underfed_server.errors import TooManyRequestsError
from underfed_server.main import Application, create_app
from underfed_server.model import RunEvent, RunSummary
from underfed_server.settings import read_settings

NOW = datetime(2026, 11, 20, tzinfo=timezone.utc)


class Read:
    """Holds the first read until all others have asked."""

    def __init__(self) -> None:
        self.since: list[datetime] = []
        self.may_end = threading.Event()

    def __call__(self, since: datetime) -> Sequence[RunSummary]:
        self.since.append(since)
        assert self.may_end.wait(30)
        return [a_run()]


def test_streams_that_resume_at_once_share_one_read() -> None:
    read = Read()

    async def resume() -> None:
        events = Events(read)
        streams = [events.watch(["runs"], NOW - timedelta(seconds=number)) for number in range(500)]
        for each in streams:
            assert await anext(each) == ": open\n\n"
        texts = [asyncio.ensure_future(anext(each)) for each in streams]
        await asyncio.sleep(0)
        read.may_end.set()
        events_read = await asyncio.gather(*texts)
        assert len(set(events_read)) == 1, "the same text"
        events.close()

    asyncio.run(resume())
    assert read.since == [NOW - timedelta(seconds=499)]


def test_who_comes_while_it_is_read_waits_for_the_next_one_and_a_leaver_ends_nobodys() -> None:
    read = Read()

    async def resume() -> None:
        events = Events(read)
        first, leaver, *later = (events.watch(["runs"], NOW) for _ in range(20))
        for each in (first, leaver, *later):
            await anext(each)
        reading = [asyncio.ensure_future(anext(each)) for each in (first, leaver)]
        while not read.since:
            await asyncio.sleep(0.001)
        waiting = [asyncio.ensure_future(anext(each)) for each in later]
        await asyncio.sleep(0)
        reading[1].cancel()
        read.may_end.set()
        assert "run-1" in await reading[0]
        assert all("run-1" in text for text in await asyncio.gather(*waiting))
        events.close()

    asyncio.run(resume())
    assert len(read.since) == 2


def test_an_event_is_written_once_for_all_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    dump = RunEvent.model_dump_json

    def noted(event: RunEvent, **how: Any) -> str:
        written.append(dump(event, **how))
        return written[-1]

    monkeypatch.setattr(RunEvent, "model_dump_json", noted)

    async def publish() -> None:
        events = Events()
        streams = [events.watch(["runs"]) for _ in range(200)]
        for each in streams:
            await anext(each)
        events.publish(a_run())
        for each in streams:
            assert "run-1" in await anext(each)
        events.close()

    asyncio.run(publish())
    assert len(written) == 1


def test_what_was_missed_comes_in_pieces() -> None:
    """A client that reads nothing has one piece written for it, not all."""
    missed = [a_run().model_copy(update={"run_id": f"run-{number}"}) for number in range(500)]

    async def resume() -> list[str]:
        events = Events(lambda _: missed)
        stream = events.watch(["runs"], NOW)
        pieces = [await anext(stream) for _ in range(11)]
        events.close()
        return pieces[1:]

    pieces = asyncio.run(resume())
    assert [piece.count("data: ") for piece in pieces] == [event_streams.MOST_AT_ONCE] * 10


@pytest.mark.parametrize(
    ("limit", "client", "token"),
    [("MOST_OF_A_CLIENT", "a", "{}"), ("MOST_OF_A_TOKEN", "{}", "t"), ("MOST_STREAMS", "{}", "{}")],
)
def test_seats_are_limited_and_given_back(monkeypatch: pytest.MonkeyPatch, limit: str, client: str, token: str) -> None:
    monkeypatch.setattr(event_streams, limit, 3)
    events = Events()
    with ExitStack() as seats:
        for number in range(3):
            seats.enter_context(events.seat(client.format(number), token.format(number)))
        with pytest.raises(TooManyRequestsError), events.seat(client.format(9), token.format(9)):
            pass
    with events.seat(client.format(9), token.format(9)):
        pass
    assert events._seats == {}


@pytest.fixture
def application(tmp_path: Path) -> Application:
    return application_in(tmp_path)


@pytest.fixture
def address(application: Application, tmp_path: Path) -> Iterator[str]:
    with serving(application, settings_for(tmp_path)) as served:
        yield served


def test_one_stream_too_many_is_refused_in_the_usual_shape(
    application: Application, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_streams, "MOST_OF_A_CLIENT", 2)
    open_ones = [Stream(address, "topic=runs") for _ in range(2)]
    refused = Stream(address, "topic=runs")
    assert refused.response.status == 429
    assert b'"code":"too_many_requests"' in refused.response.read()
    for each in (*open_ones, refused):
        each.close()
    # Whoever left is noticed at the next heartbeat.
    monkeypatch.setattr(event_streams, "HEARTBEAT_S", 0.05)
    application.parts.events.wake()
    poll(lambda: application.parts.events._seats == {})
    again = Stream(address, "topic=runs")
    assert again.response.status == 200
    again.close()


def test_a_proxys_word_ends_a_stream_when_it_is_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says who is signed in with each request, and never that somebody signed out."""
    read = read_settings(["--proxy-address", "127.0.0.1", "--proxy-user-header", "X-User"], {})
    settings = replace(
        settings_for(tmp_path, token="the-token-of-this-service"),
        proxy_addresses=read.proxy_addresses, proxy_user_header=read.proxy_user_header,
    )  # fmt: skip
    application = create_app(settings)
    later = timedelta()
    monkeypatch.setattr(application.parts.store, "now", lambda: datetime.now(timezone.utc) + later)
    with serving(application, settings) as address:
        stream = Stream(address, "topic=runs", X_User="ada")
        assert stream.response.status == 200
        assert stream.line() == ": open"
        later = PROXY_SAYS + timedelta(seconds=1)
        application.parts.events.wake()
        assert stream.response.read().strip() == b"", "it ends"
        again = Stream(address, "topic=runs", X_User="ada")
        assert again.response.status == 200, "who is still signed in goes on"
        signed_out = Stream(address, "topic=runs")
        assert signed_out.response.status == 401
        for each in (stream, again, signed_out):
            each.close()
