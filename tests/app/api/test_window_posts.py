"""A post of a window that comes as agents send it goes another way than the rest, and nobody can tell."""

from __future__ import annotations

import gc
import logging
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.app.api.test_connections import connected
from tests.app.made_windows import made_window, posted
from tests.app.operations.asking import ask, scraped
from tests.app.serving import answering, application_in, poll, settings_for
from underfed_server import __main__ as serving
from underfed_server.__main__ import Server, listen
from underfed_server.api.admission.connections import BoundedProtocol
from underfed_server.api.admission.usual_post import UsualPost
from underfed_server.api.window_posts import WindowPosts
from underfed_server.ingest.posted import Outcome
from underfed_server.main import Application, create_app
from underfed_server.settings import read_settings

TOKEN = "the-token-of-an-agent"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
KEPT_ALIVE = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="module")
def application(directory: Path) -> Application:
    return application_in(directory, token=TOKEN)


@pytest.fixture(scope="module")
def address(application: Application, directory: Path) -> Iterator[str]:
    with answering(Server(application), listen(settings_for(directory, token=TOKEN))) as place:
        yield place


@pytest.fixture
def usual(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Bodies that went the short way."""
    taken: list[bytes] = []
    take = WindowPosts.take

    def noted(self: WindowPosts, post: Any) -> None:
        taken.append(bytes(post.body))
        take(self, post)

    monkeypatch.setattr(WindowPosts, "take", noted)
    return taken


def request(body: bytes, *more: str, length: bool = True, version: str = "1.1", token: str = TOKEN) -> bytes:
    lines = [f"POST /api/v1/ingest HTTP/{version}", "Host: x", "Content-Type: application/json"]
    lines += [f"Authorization: Bearer {token}", *more, *([f"Content-Length: {len(body)}"] if length else [])]
    return "\r\n".join([*lines, "", ""]).encode() + body


def answer_to(connection: socket.socket) -> bytes:
    """The next answer of the connection, without what distinguishes it from others."""
    with connection.makefile("rb", buffering=0) as file:
        head = [line := file.readline()]
        while line not in (b"\r\n", b""):
            head.append(line := file.readline())
        if head[0].startswith(b"HTTP/1.1 100"):
            return answer_to(connection)
        length = next(int(line.split(b":")[1]) for line in head if line.startswith(b"content-length:"))
        body = b""
        while len(body) < length:
            body += file.read(length - len(body)) or b""
    for name in (b"x-request-id:", b"date:"):
        assert sum(line.startswith(name) for line in head) == 1
    return b"".join(line for line in head if not line.startswith((b"x-request-id:", b"date:"))) + body


def sent(address: str, data: bytes) -> bytes:
    with closing(connected(address)) as connection:
        connection.sendall(data)
        return answer_to(connection)


def chunked(body: bytes, *more: str) -> bytes:
    """The same window, for the long way."""
    parts = b"%x\r\n%s\r\n" % (len(body), body) if body else b""
    return request(parts + b"0\r\n\r\n", "Transfer-Encoding: chunked", *more, length=False)


BODIES = {
    "a window": posted(made_window(0)),
    "one that came before": posted(made_window(0)),
    "one that is missing an earlier one": posted(made_window(5, previous_window_index=4)),
    "of another version": posted(made_window(0, version=9)),
    "with a wrong field": posted(made_window(0, rank=-1)),
    "no JSON": b"{",
    "nothing": b"",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))
def test_the_answer_is_the_same_on_both_ways(address: str, usual: list[bytes], body: bytes) -> None:
    assert ask(address, "/api/v1/ingest", BODIES["a window"], BEARER).status == 200
    usual.clear()
    answers = [sent(address, data) for data in (request(body), chunked(body))]
    assert usual == [body]
    assert answers[0] == answers[1]


LONG = {
    "a body in chunks": chunked(BODIES["a window"]),
    "one whose client asks first": request(BODIES["a window"], "Expect: 100-continue"),
    "of the protocol before": request(BODIES["a window"], version="1.0"),
    "the last one of its connection": request(BODIES["a window"], "Connection: close"),
    "a large one": request(posted(made_window(0, run={"command": ["x" * 1_000] * 90}))),
    "an address with more": request(BODIES["a window"]).replace(b"/ingest ", b"/ingest?x=1 "),
    "a token that nobody knows": request(BODIES["a window"], token="guessed"),
}


@pytest.mark.parametrize("data", LONG.values(), ids=list(LONG))
def test_what_is_unusual_goes_the_long_way(address: str, usual: list[bytes], data: bytes) -> None:
    assert sent(address, data).startswith(b"HTTP/1.1 ")
    assert usual == []


def test_a_body_in_pieces_and_posts_sent_ahead_are_answered_in_order(address: str, usual: list[bytes]) -> None:
    windows = [posted(made_window(index)) for index in range(4)]
    data = b"".join(map(request, windows))
    with closing(connected(address)) as connection:
        for start in range(0, len(data), 500):
            connection.sendall(data[start : start + 500])
        answers = [answer_to(connection) for _ in windows]
        connection.sendall(request(posted(made_window(4))))
        answers.append(answer_to(connection))
    assert [b'"next_window_index":%d,' % index in answer for index, answer in enumerate(answers, 1)] == [True] * 5
    assert windows[0] in usual, "what waits behind another may go either way"


def test_another_request_behind_a_post_is_answered_after_it(address: str) -> None:
    with closing(connected(address)) as connection:
        connection.sendall(request(BODIES["a window"]) + KEPT_ALIVE)
        assert b"next_window_index" in answer_to(connection)
        assert b'"status"' in answer_to(connection)


def test_the_sender_chooses_the_id_and_it_is_counted(address: str, usual: list[bytes]) -> None:
    def counted() -> list[float]:
        samples = scraped(address, BEARER)
        posts = samples["underfed_request_seconds_count"]
        route = ("method", "POST"), ("route", "/api/v1/ingest")
        seen = [posts.get((*route, ("status", status)), 0) for status in ("200", "400")]
        return [*seen, samples.get("underfed_refusals_total", {}).get((("code", "malformed"),), 0)]

    before = counted()
    taken = ask(address, "/api/v1/ingest", BODIES["a window"], BEARER | {"X-Request-Id": "mine-1"})
    wrong = ask(address, "/api/v1/ingest", b"{", BEARER)
    assert len(usual) == 2
    assert (taken.headers["x-request-id"], bool(wrong.headers["x-request-id"])) == ("mine-1", True)
    assert [now - then for now, then in zip(counted(), before, strict=True)] == [1, 1, 1]


def test_what_fails_in_the_service_is_answered_with_the_id_under_which_it_is_logged(
    application: Application, address: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> Future[Outcome]:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(application._ingest, "_submit", fail)
    with caplog.at_level(logging.ERROR):
        refused = ask(address, "/api/v1/ingest", BODIES["a window"], BEARER | {"X-Request-Id": "mine-2"})
    assert (refused.status, refused.code) == (500, "internal")
    assert [each.getMessage() for each in caplog.records if each.exc_info] == ["request mine-2 failed"]
    monkeypatch.undo()
    assert ask(address, "/api/v1/ingest", BODIES["a window"], BEARER).status == 200


def test_who_leaves_in_the_middle_of_a_body_holds_nothing_and_is_counted(
    application: Application, address: str
) -> None:
    def left() -> float:
        labels = {"method": "POST", "route": "/api/v1/ingest", "status": "499"}
        name = "underfed_request_seconds_count"
        return application.parts.counters.registry.get_sample_value(name, labels) or 0

    budget, before = application._ingest._budget, left()
    with closing(connected(address)) as connection:
        connection.sendall(request(BODIES["a window"])[:-100])
        poll(lambda: budget.taken > 0)
    poll(lambda: budget.taken == 0)
    poll(lambda: left() == before + 1)


def test_a_body_that_is_only_announced_takes_no_room_from_others(
    application: Application, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = application._ingest._budget
    for limit in ("_most", "_most_each"):
        monkeypatch.setattr(budget, limit, 10_000)
    with closing(connected(address)) as announcing, closing(connected(address)) as large:
        announcing.sendall(request(b"x" * 60_000)[:-60_000])
        large.sendall(request(b"x" * 60_000))
        assert answer_to(large).startswith(b"HTTP/1.1 503")
        assert ask(address, "/api/v1/ingest", BODIES["a window"], BEARER).status == 200
    poll(lambda: budget.taken == 0)


def test_a_connection_keeps_nothing_of_what_was_posted(application: Application, address: str) -> None:
    with closing(connected(address)) as connection:
        connection.sendall(request(posted(made_window(0, note="x" * 50_000))))
        answer_to(connection)
        posts = [each for each in gc.get_objects() if type(each) is UsualPost]
        assert posts
        assert [each.body for each in posts] == [bytearray()] * len(posts)


LEAVING = {
    "in the middle of a body": request(BODIES["a window"])[:-1],
    "after the answer": request(BODIES["a window"]),
}


@pytest.mark.parametrize("data", LEAVING.values(), ids=list(LEAVING))
def test_a_connection_that_ended_is_freed_at_once(application: Application, address: str, data: bytes) -> None:
    """The service looks for cyclic garbage seldom."""

    def connections() -> int:
        return sum(type(each) is BoundedProtocol for each in gc.get_objects())

    poll(lambda: application.parts.counters.connections._value.get() == 0)
    gc.collect()
    gc.disable()
    try:
        before = connections()
        with closing(connected(address)) as connection:
            connection.sendall(data)
            poll(lambda: connections() == before + 1)
            if data == LEAVING["after the answer"]:
                answer_to(connection)
        poll(lambda: connections() == before)
    finally:
        gc.enable()


REFUSED_BEHIND = {
    "without a host": b"GET / HTTP/1.1\r\n\r\n",
    "with two": b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    "with too many headers": b"GET / HTTP/1.1\r\nHost: x\r\nX-A: " + b"x" * 70_000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("behind", REFUSED_BEHIND.values(), ids=list(REFUSED_BEHIND))
@pytest.mark.parametrize("way", [request, chunked])
def test_a_post_is_answered_before_what_is_refused_behind_it(
    address: str, way: Callable[[bytes], bytes], behind: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(connected(address)) as connection:
        connection.sendall(way(BODIES["a window"]) + behind)
        assert answer_to(connection).startswith(b"HTTP/1.1 200")
        assert connection.recv(1) == b""
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []


def test_two_users_from_a_proxy_are_refused_on_both_ways(tmp_path: Path) -> None:
    options = ["--proxy-address", "127.0.0.0/8", "--proxy-user-header", "X-User", "--db", f"sqlite:///{tmp_path}/u.db"]
    settings = read_settings([*options, "--port", "0"], {"UNDERFED_TOKEN": TOKEN})
    application = create_app(settings)
    server = Server(application, proxies=settings.proxy_addresses)
    users = ("X-User: bob", "X-User: eve", "X-Forwarded-For: 198.51.100.7")
    body = BODIES["a window"]
    with answering(server, listen(settings)) as address:
        short = sent(address, request(body, *users))
        assert short.startswith(b"HTTP/1.1 403")
        assert sent(address, chunked(body, *users)) == short


def test_who_leaves_before_the_answer_delays_no_other(
    application: Application, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[Future[Outcome]] = []
    submit = application._ingest._submit

    def hold(posted_window: Any) -> Future[Outcome]:
        waiting.append(Future())
        return waiting[-1]

    monkeypatch.setattr(application._ingest, "_submit", hold)
    with closing(connected(address)) as connection:
        connection.sendall(request(BODIES["a window"]))
        poll(lambda: waiting)
    poll(lambda: application.parts.counters.connections._value.get() == 0)
    monkeypatch.setattr(application._ingest, "_submit", submit)
    waiting[0].set_exception(RuntimeError("nobody sees this"))
    assert ask(address, "/api/v1/ingest", BODIES["a window"], BEARER).status == 200


def test_a_service_that_stops_answers_the_post_under_way(tmp_path: Path) -> None:
    application = application_in(tmp_path, token=TOKEN)
    server = Server(application)
    with answering(server, listen(settings_for(tmp_path, token=TOKEN))) as address, closing(connected(address)) as held:
        held.sendall(request(BODIES["a window"])[:-1])
        poll(lambda: application._ingest._budget.taken > 0)
        server.should_exit = True
        held.sendall(request(BODIES["a window"])[-1:])
        answer = answer_to(held)
    assert answer.startswith(b"HTTP/1.1 200")
    assert held.fileno() == -1


def test_who_posts_no_more_is_let_go_and_who_does_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "KEEP_ALIVE_S", 0.3)
    application = application_in(tmp_path, token=TOKEN)
    with (
        answering(Server(application), listen(settings_for(tmp_path, token=TOKEN))) as address,
        closing(connected(address)) as idle,
        closing(connected(address)) as busy,
    ):
        for connection in (idle, busy):
            connection.sendall(request(BODIES["a window"]))
            answer_to(connection)
        poll(lambda: not asks_again(busy) or application.parts.counters.connections._value.get() == 1)
        assert idle.recv(1) == b"", "it was closed"
        assert asks_again(busy)


def asks_again(connection: socket.socket) -> bool:
    connection.sendall(request(BODIES["a window"]))
    return answer_to(connection).startswith(b"HTTP/1.1 200")
