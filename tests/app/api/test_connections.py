"""What a connection may take before anything is known of who is at its other end, over real sockets."""

from __future__ import annotations

import gc
import json
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.app.made_windows import made_window, posted
from tests.app.operations.asking import ask, scraped
from tests.app.serving import answering, application_in, poll, settings_for
from underfed_server import __main__ as serving
from underfed_server.__main__ import Server, listen
from underfed_server.api.admission import connections
from underfed_server.counters import Counters
from underfed_server.main import Application
from underfed_server.settings import read_settings

TOKEN = "the-token-of-an-attacked-service"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
MOST = 8
SOON_S = 0.2


@pytest.fixture
def application(tmp_path: Path) -> Application:
    return application_in(tmp_path, token=TOKEN)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not come is not waited for."""
    for name in ("HEADERS_S", "BODY_S", "STALLED_S"):
        monkeypatch.setattr(connections, name, SOON_S)
    monkeypatch.setattr(serving, "KEEP_ALIVE_S", SOON_S)


@pytest.fixture
def address(application: Application, tmp_path: Path) -> Iterator[str]:
    """Of a service that may have eight connections."""
    with served(application, tmp_path) as place:
        yield place


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Application, str]]:
    """One service, and its address, for all requests that are answered or refused at once."""
    directory = tmp_path_factory.mktemp("lasting")
    application = application_in(directory, token=TOKEN)
    with served(application, directory) as place:
        yield application, place


@contextmanager
def served(application: Application, directory: Path) -> Iterator[str]:
    listening = listen(settings_for(directory, token=TOKEN))
    # Connections have it too: what is not read is soon noticed.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    with answering(Server(application, most_connections=MOST), listening) as address:
        yield address


def connected(address: str) -> socket.socket:
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=30)


def everything(connection: socket.socket) -> bytes:
    """Until the service closes the connection."""
    parts = []
    try:
        while part := connection.recv(2**16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def refusal(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head
    return int(head.split()[1]), json.loads(body)["error"]["code"]


def ended(application: Application, reason: str) -> float:
    return float(application.parts.counters.connections_ended.labels(reason)._value.get())


HEAD = b"POST /api/v1/ingest HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
PERMITTED = HEAD + f"Authorization: Bearer {TOKEN}\r\n".encode()

SLOW = [
    ("headers", b""),
    ("headers", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: b"),
    ("headers", b"GET / HTTP/1.1\r\n"),
    ("body", PERMITTED + b"Content-Length: 100\r\n\r\n{"),
    ("body", PERMITTED + b"Content-Length: 100\r\n\r\n"),
    ("body", PERMITTED + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{"),
]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("part", "sent"), SLOW)
def test_what_is_never_complete_is_ended_with_a_reason(
    application: Application, address: str, part: str, sent: bytes
) -> None:
    with closing(connected(address)) as connection:
        connection.sendall(sent)
        assert refusal(everything(connection)) == (408, "request_timeout")
    assert ended(application, part) == 1


@pytest.mark.usefixtures("quick")
def test_line_ends_between_requests_do_not_keep_a_connection(application: Application, address: str) -> None:
    with closing(connected(address)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        connection.settimeout(30)
        read = b""
        while not read.endswith(b"}"):
            read += connection.recv(2**16)
        connection.sendall(b"\r\n")
        assert everything(connection) == b""


@pytest.mark.usefixtures("quick")
def test_a_body_that_never_ends_is_ended_also_after_its_refusal(application: Application, address: str) -> None:
    with closing(connected(address)) as connection:
        connection.sendall(HEAD + b"Content-Length: 4000000\r\n\r\n" + b"x" * 100)
        assert everything(connection).startswith(b"HTTP/1.1 401"), "and no second answer"
    assert ended(application, "body") == 1


@contextmanager
def deaf(address: str, times: int = 1, more: str = "") -> Iterator[socket.socket]:
    """Asks for an answer of some 100 kB and reads nothing."""
    with closing(socket.socket()) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.connect((urlsplit(address).hostname, urlsplit(address).port))
        asked = f"GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n{more}\r\n"
        connection.sendall(asked.encode() * times)
        yield connection


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("more", ["", "Connection: close\r\n"])
def test_an_answer_that_is_not_read_is_not_kept(application: Application, address: str, more: str) -> None:
    with deaf(address, more=more):
        poll(lambda: ended(application, "stalled") > 0)


@pytest.mark.usefixtures("quick")
def test_who_reads_too_slowly_is_ended_too(
    application: Application, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often a little is read."""
    monkeypatch.setattr(connections, "STALLED_S", 10 * SOON_S)
    monkeypatch.setattr(connections, "LEAST_READ_BYTES_PER_S", 2**30)
    with deaf(address, times=7) as connection:
        with suppress(OSError):
            while connection.recv(4_096):
                time.sleep(SOON_S / 20)
        assert ended(application, "stalled") == 1


def test_who_reads_slowly_but_fast_enough_has_all_of_it(
    application: Application, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the kernel holds for the reader is read, too: with megabytes in it the service is asked for more seldom."""
    monkeypatch.setattr(connections, "STALLED_S", 15 * SOON_S)
    monkeypatch.setattr(connections, "LEAST_READ_BYTES_PER_S", 2**10)
    monkeypatch.setattr(connections, "UNREAD_BYTES", 1)
    with deaf(address, more="Connection: close\r\n") as connection:
        size = 0
        while part := connection.recv(4_096):
            size += len(part)
            time.sleep(SOON_S)
        assert size > 100_000
    assert ended(application, "stalled") == 0


def test_answers_that_nobody_reads_have_a_limit_together(
    application: Application, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that waits longest is ended."""
    monkeypatch.setattr(connections, "MOST_UNREAD_BYTES", 250_000)
    with ExitStack() as several:
        for number in range(MOST - 2):
            several.enter_context(deaf(address))
            poll(lambda: answers(application) > number)  # noqa: B023 called at once
        assert 2 <= ended(application, "unread") < MOST - 2
        assert ask(address, "/healthz").status == 200


def answers(application: Application) -> float:
    """That were made."""
    metrics = application.parts.counters.request_seconds.collect()
    return sum(
        each.value
        for metric in metrics
        for each in metric.samples
        if each.name.endswith("_count") and each.labels["status"] == "200"
    )


def test_no_answer_is_made_behind_one_that_is_not_read(application: Application, address: str) -> None:
    with deaf(address, times=8) as connection:
        poll(lambda: answers(application) == 1)
        time.sleep(5 * SOON_S)
        assert answers(application) == 1
        connection.settimeout(30)
        read = b""
        while read.count(b"HTTP/1.1 200") < 8:
            read += connection.recv(2**16)
        poll(lambda: answers(application) == 8)


def test_a_connection_that_ended_is_freed_at_once(application: Application, address: str) -> None:
    """Also what it sent, which may be megabytes: the service looks for cyclic garbage seldom."""
    ask(address, "/healthz")
    poll(lambda: application.parts.counters.connections._value.get() == 0)
    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            ask(address, "/healthz")
        poll(lambda: application.parts.counters.connections._value.get() == 0)
        poll(lambda: sum(type(each) is connections.BoundedProtocol for each in gc.get_objects()) <= 1)
    finally:
        gc.enable()


STRAY = (
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 200),
    (b"GET /api/v1/runs HTTP/1.1\r\nHost: x\r\n\r\n", 401),
    (HEAD + b"Content-Length: 2\r\n\r\n{}", 401),
    (PERMITTED + b"Content-Length: 2\r\n\r\n{}", 400),
)


@pytest.mark.parametrize(("said", "status"), STRAY)
def test_a_request_is_answered_whatever_comes_behind_it(
    application: Application, address: str, said: bytes, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(connected(address)) as connection:
        connection.sendall(said + b"}")
        answer = everything(connection)
    assert answer.startswith(b"HTTP/1.1 %d" % status)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert ended(application, "malformed") == 1
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.parametrize("size", [70_000, 120_000])
def test_headers_that_come_at_once_have_the_same_limit(address: str, size: int) -> None:
    with closing(connected(address)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: " + b"b" * size + b"\r\n\r\n")
        assert refusal(everything(connection)) == (431, "headers_too_large")


LEFT_UNREAD = b"GET / HTTP/1.1\r\nX-A: " + b"b" * 4_000_000


def test_a_refusal_is_read_by_who_still_sends(address: str) -> None:
    """Were the connection closed at once, the client's kernel would drop what it has not read."""
    with closing(connected(address)) as connection:
        connection.sendall(LEFT_UNREAD)
        time.sleep(SOON_S)
        assert refusal(everything(connection)) == (431, "headers_too_large")


@pytest.mark.parametrize("more", [b"", b"Connection: close\r\n"])
@pytest.mark.parametrize(("said", "status"), [(HEAD, 401), (PERMITTED, 413)])
def test_who_reads_only_after_sending_all_has_the_answer_too(
    address: str, said: bytes, status: int, more: bytes
) -> None:
    """The service answers before the body has come."""
    size = 6 * 2**20
    with closing(connected(address)) as connection:
        connection.sendall(said + more + b"Content-Length: %d\r\n\r\n" % size)
        time.sleep(SOON_S)
        for _ in range(size // 2**16):
            connection.sendall(b"x" * 2**16)
        assert connection.recv(2**16).startswith(b"HTTP/1.1 %d" % status)


HOSTS = (b"127.0.0.1", b"evil.example")
MISLEADING = [
    b"GET / HTTP/1.1\r\nHost: %b\r\nHost: %b\r\n\r\n" % HOSTS,
    b"GET / HTTP/1.1\r\nHost: %b\r\nHost: %b\r\n\r\n" % HOSTS[::-1],
    b"GET / HTTP/1.0\r\nHost: %b\r\nhost: %b\r\n\r\n" % HOSTS,
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET http://127.0.0.1@evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1@evil.example\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: evil.example@127.0.0.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1, evil.example\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1/evil.example\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n evil.example\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n",
    b"CONNECT evil.example:80 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    PERMITTED + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    PERMITTED + b"Content-Length: 2\r\nContent-Length: 20\r\n\r\n{}",
    PERMITTED + b"Content-Length: 2, 2\r\n\r\n{}",
    PERMITTED + b"Content-Length: +2\r\n\r\n{}",
    PERMITTED + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    PERMITTED + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    PERMITTED + b"Transfer-Encoding: chunked, identity\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    PERMITTED + b"Transfer-Encoding: x\r\n\r\n{}",
    PERMITTED + b"Authorization: Bearer other\r\nContent-Length: 2\r\n\r\n{}",
    PERMITTED + b"Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
    b"GET / HTTP/1.1\nHost: 127.0.0.1\n\n",
]


@pytest.mark.parametrize("sent", MISLEADING)
def test_what_parsers_read_differently_is_refused(lasting: tuple[Application, str], sent: bytes) -> None:
    application, address = lasting
    before = ended(application, "malformed")
    with closing(connected(address)) as connection:
        connection.sendall(sent)
        assert refusal(everything(connection)) == (400, "malformed")
    assert ended(application, "malformed") == before + 1


@pytest.mark.parametrize("host", [b"127.0.0.1:7077", b"[::1]:7077", b"LOCALHOST", b"a-b.example:80", b"some-host."])
@pytest.mark.parametrize("target", [b"/healthz", b"http://%b/healthz"])
def test_a_usual_host_is_taken(lasting: tuple[Application, str], host: bytes, target: bytes) -> None:
    _, address = lasting
    with closing(connected(address)) as connection:
        target = target.replace(b"%b", host)
        connection.sendall(b"GET %b HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n" % (target, host))
        assert everything(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\nX-A: " + b"b" * 300_000,
        b"GET /" + b"a" * 300_000,
        b"GET / HTTP/1.1\r\n" + b"X-A: b\r\n" * 40_000,
    ],
)
def test_headers_have_a_limit(application: Application, address: str, sent: bytes) -> None:
    with closing(connected(address)) as connection:
        with suppress(OSError):
            connection.sendall(sent)
        everything(connection)
    assert ended(application, "headers_size") == 1


def test_a_body_that_nobody_reads_has_a_limit_too(
    application: Application, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST_MESSAGE_BYTES", 100_000)
    with closing(connected(address)) as connection:
        with suppress(OSError):
            connection.sendall(HEAD + b"Content-Length: 4000000\r\n\r\n" + b"x" * 1_000_000)
        everything(connection)
    assert ended(application, "body_size") == 1


def test_requests_sent_ahead_have_a_limit(application: Application, address: str) -> None:
    with closing(connected(address)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 5_000)
        everything(connection)
    assert ended(application, "pipelined") == 1
    assert ask(address, "/healthz").status == 200


UNREAD = [
    ("PATCH", "/api/v1/runs/x", 401),
    ("POST", "/api/v1/tokens", 401),
    ("PUT", "/api/v1/projects/x/retention", 401),
    ("POST", "/api/v1/ingest", 401),
    ("POST", "/api/v1/session", 413),
    ("POST", "/nothing", 401),
]


@pytest.mark.parametrize(("method", "path", "status"), UNREAD)
@pytest.mark.parametrize("length", ["Content-Length: 4000000", "Transfer-Encoding: chunked"])
def test_who_has_no_token_is_refused_before_the_body_comes(
    address: str, method: str, path: str, status: int, length: str
) -> None:
    with closing(connected(address)) as connection:
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{length}\r\n\r\n"
        connection.sendall(head.encode())
        if path.endswith("session") and "chunked" in length:
            connection.sendall(b"4000\r\n" + b"x" * 0x4000)
        assert connection.recv(2**16).startswith(f"HTTP/1.1 {status}".encode())


def test_a_service_that_is_full_says_so_and_recovers(application: Application, address: str) -> None:
    held = [connected(address) for _ in range(MOST)]
    poll(lambda: application.parts.counters.connections._value.get() == MOST)
    with closing(connected(address)) as connection:
        assert refusal(everything(connection)) == (503, "unavailable")
    assert ended(application, "full") == 1
    for each in held:
        each.close()
    poll(lambda: application.parts.counters.connections._value.get() == 0)
    assert scraped(address, BEARER)["underfed_connections"] == {(): 1.0}


def test_one_address_of_the_network_has_no_more_than_half() -> None:
    settings = read_settings(["--proxy-address", "10.0.0.0/8"], {})
    counted = connections.Connections(10, settings.proxy_addresses, Counters())
    assert [counted.admit("192.0.2.1") is None for _ in range(6)] == [True] * 5 + [False]
    assert counted.admit("192.0.2.2") is None
    counted.release("192.0.2.1")
    assert counted.admit("192.0.2.1") is None
    for address in ("127.0.0.1", "10.0.0.1"):
        speaking = connections.Connections(10, settings.proxy_addresses, Counters())
        assert [speaking.admit(address) is None for _ in range(11)] == [True] * 10 + [False]


def test_a_change_of_protocol_is_not_made(address: str) -> None:
    with closing(connected(address)) as connection:
        connection.sendall(
            b"GET /api/v1/events HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        assert b" 101 " not in connection.recv(2**16).partition(b"\r\n")[0]


def test_bodies_together_have_a_limit(application: Application, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = application._ingest._budget
    for limit in ("_most", "_most_each"):
        monkeypatch.setattr(budget, limit, 100_000)
    with closing(connected(address)) as first:
        first.sendall(PERMITTED + b"Content-Length: 90002\r\n\r\n" + b'"' + b"x" * 90_000)
        poll(lambda: budget.taken == 90_001)
        large = posted(made_window(0, note="x" * 20_000))
        refused = ask(address, "/api/v1/ingest", large, BEARER)
        assert (refused.status, refused.code) == (503, "unavailable")
        assert refused.headers["retry-after"]
        assert ask(address, "/api/v1/ingest", posted(made_window(0)), BEARER).status == 200
    poll(lambda: budget.taken == 0)
    assert ask(address, "/api/v1/ingest", large, BEARER).status == 200


@pytest.mark.parametrize("limit", [1_024, 4_096, resource.RLIM_INFINITY])
def test_the_usual_limit_on_open_files_is_raised(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, limit))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
    room = connections.raise_file_limit()
    assert asked == [(min(limit, 65_536) if limit > 0 else 65_536, limit)]
    assert asked[0][0] // 2 <= room < asked[0][0]
