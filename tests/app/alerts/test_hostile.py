"""Receivers and URLs that mean harm: nothing internal is reached, nothing hangs, nothing that they write is shown."""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from tests.app.alerts.conftest import Desk
from tests.app.alerts.receivers import Receiver, misbehaving
from tests.app.conftest import on_sqlite_alone
from underfed_server.alerts.sending import mail, posting
from underfed_server.errors import InvalidError
from underfed_server.logs import printable
from underfed_server.settings import MailServer

pytestmark = on_sqlite_alone

NO_URL = [
    "", "hooks.example.org", "ftp://example.org/", "file:///etc/passwd", "https://", "https:///path", "https://user@h/",
    "https://user:secret@example.org/", "https://example.org:99999/", "https://example.org:0/", "https://exa mple.org/",
    "https://example.org/\r\nHost: evil", "https://ex\u00e4mple.org/", "https://[::1", "https://example.org\\@evil/",
    "gopher://127.0.0.1:25/x", "https://" + "x" * 2_000,
]  # fmt: skip
NOT_PUBLIC = [
    "https://10.0.0.1/", "https://192.168.1.1/", "https://169.254.169.254/latest/meta-data", "https://[::1]/",
    "https://[fe80::1%25eth0]/", "https://[::ffff:10.0.0.1]/", "https://[64:ff9b::a00:1]/", "https://[2002:a00:1::]/",
    "https://0.0.0.0/", "https://100.64.0.1/", "https://224.0.0.1/", "https://[fd00::1]/", "https://255.255.255.255/",
    "http://8.8.8.8/",
]  # fmt: skip


@pytest.mark.parametrize("url", [*NO_URL, *NOT_PUBLIC], ids=printable)
def test_a_url_that_leads_nowhere_or_inside_is_refused(desk: Desk, url: str) -> None:
    with pytest.raises(InvalidError) as refused:
        desk.channel(url)
    assert refused.value.field == "url"
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("resolved", ["127.0.0.2", "10.1.2.3", "::1"])
def test_a_name_is_looked_up_before_each_message_and_may_not_lead_inside(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, resolved: str
) -> None:
    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (resolved, port))]

    channel = desk.channel("https://rebound.example/")
    monkeypatch.setattr("underfed_server.alerts.sending.addresses.socket.getaddrinfo", resolve)
    connected: list[Any] = []
    monkeypatch.setattr("underfed_server.alerts.sending.posting.socket.socket", lambda *words: connected.append(words))
    desk.alerting.test(channel.channel_id, None, "http://page")
    desk.send()
    assert "is no public address; the operator" in (desk.log[0].error or "")
    assert connected == []


def test_the_address_that_was_looked_at_is_the_one_that_is_connected_to(
    desk: Desk, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(receiver.url.rpartition(":")[2])
    first = [[(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]]
    monkeypatch.setattr("underfed_server.alerts.sending.addresses.socket.getaddrinfo", lambda *_, **__: first.pop())
    channel = desk.channel(f"http://rebound.example:{port}/")
    desk.alerting.test(channel.channel_id, None, "http://page")
    desk.send()
    assert desk.log[0].state == "sent", desk.log[0].error
    assert receiver.got[0].headers["Host"] == f"rebound.example:{port}"


def test_a_redirect_is_not_followed(desk: Desk, receiver: Receiver) -> None:
    receiver.answers = [(307, {"Location": f"{receiver.url}/inside"})]
    channel = desk.channel(receiver.url)
    desk.alerting.test(channel.channel_id, None, "http://page")
    desk.send()
    assert desk.log[0].error == "it answered with 307, a redirect, which is not followed"
    assert len(receiver.got) == 1


def says_nothing(connection: socket.socket) -> None:
    connection.recv(1)
    time.sleep(60)


def drips(connection: socket.socket) -> None:
    for character in itertools.cycle(b"HTTP/1.1 200 OK"):
        connection.sendall(bytes([character]))
        time.sleep(0.02)


def continues_for_ever(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")


def heads_for_ever(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X: " + b"x" * 60_000 + b"\r\n")


def streams_for_ever(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"1000\r\n" + b"x" * 4_096 + b"\r\n")


def shakes_hands_for_ever(connection: socket.socket) -> None:
    """A record of TLS that does not end."""
    connection.sendall(b"\x16\x03\x03\x40\x00")
    while True:
        connection.sendall(b"\x00")
        time.sleep(0.02)


def speaks_otherwise(connection: socket.socket) -> None:
    connection.sendall(b"SSH-2.0-OpenSSH_internal\r\n")
    connection.recv(1)


def breaks_off(connection: socket.socket) -> None:
    connection.close()


BAD: list[tuple[Callable[[socket.socket], None], str | None]] = [
    (says_nothing, "it did not answer within 0 s"),
    (drips, "it did not answer within 0 s"),
    (continues_for_ever, "it did not answer within 0 s"),
    (heads_for_ever, "its answer is no HTTP"),
    (streams_for_ever, None),
    (shakes_hands_for_ever, "it did not answer within 0 s"),
    (speaks_otherwise, "its answer is no HTTP"),
    (breaks_off, "it cannot be reached"),
]


@pytest.mark.parametrize(("act", "why"), BAD, ids=lambda each: getattr(each, "__name__", ""))
def test_a_receiver_that_misbehaves_is_left_in_time_and_what_it_writes_is_not_shown(
    desk: Desk, act: Callable[[socket.socket], None], why: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posting, "DEADLINE_S", 0.4)
    with misbehaving(act) as url:
        channel = desk.channel(url.replace("http", "https") if act is shakes_hands_for_ever else url)
        desk.alerting.test(channel.channel_id, None, "http://page")
        assert desk.send() == 1
    assert desk.log[0].error == why


def greets_for_ever(connection: socket.socket) -> None:
    for character in itertools.chain(b"220 ", itertools.repeat(ord("x"))):
        connection.sendall(bytes([character]))
        time.sleep(0.02)


def greets_and_shakes_hands_for_ever(connection: socket.socket) -> None:
    for answer in (b"220 x\r\n", b"250-x\r\n250 STARTTLS\r\n", b"220 go on\r\n"):
        connection.sendall(answer)
        connection.recv(1_000)
    shakes_hands_for_ever(connection)


@pytest.mark.parametrize(
    ("act", "security"),
    [
        (says_nothing, "none"),
        (greets_for_ever, "none"),
        (shakes_hands_for_ever, "tls"),
        (greets_and_shakes_hands_for_ever, "starttls"),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_a_mail_server_that_misbehaves_is_left_in_time(
    desk: Desk, act: Callable[[socket.socket], None], security: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail, "DEADLINE_S", 0.4)
    with misbehaving(act) as url:
        desk.with_mail(MailServer("127.0.0.1", int(url.rpartition(":")[2]), security, "underfed@example.org"))
        desk.alerting.test(desk.mail_channel("ada@example.org").channel_id, None, "http://page")
        assert desk.send() == 1
    assert desk.log[0].error == "the mail server did not answer within 0 s"


def test_a_mail_server_that_says_nothing_is_reported_so_where_the_sockets_timeout_comes_first(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a loaded host the thread that cuts the connection is late."""
    monkeypatch.setattr(mail, "DEADLINE_S", 0.4)
    monkeypatch.setattr(mail, "deadline", lambda *_: nullcontext())
    with misbehaving(says_nothing) as url:
        desk.with_mail(MailServer("127.0.0.1", int(url.rpartition(":")[2]), "none", "underfed@example.org"))
        desk.alerting.test(desk.mail_channel("ada@example.org").channel_id, None, "http://page")
        assert desk.send() == 1
    assert desk.log[0].error == "the mail server did not answer within 0 s"


def test_an_attempt_that_fails_unforeseen_is_an_attempt(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = desk.channel("http://127.0.0.1:9")
    desk.rule(channel.channel_id)
    desk.judged()

    def fail(*_: object) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr("underfed_server.alerts.sending.sender.post_body", fail)
    assert desk.send() == 1
    assert (desk.log[0].attempts, desk.log[0].error) == (1, "the service failed; its log says why")


def test_with_another_key_nothing_is_sent_and_it_is_said_why(desk: Desk, receiver: Receiver) -> None:
    channel = desk.channel(receiver.url)
    desk.settings = replace(desk.settings, keys=("another-key-that-is-as-long-as-that-is",))
    desk.restart()
    desk.alerting.test(channel.channel_id, None, "http://page")
    desk.send()
    assert "encrypted with another key" in (desk.log[0].error or "")
    desk.advance(seconds=1)
    desk.settings = replace(desk.settings, keys=(*desk.settings.keys, "a-key-that-is-as-long-as-a-key-must-be"))
    desk.restart()
    desk.alerting.test(channel.channel_id, None, "http://page")
    desk.send()
    assert [each.state for each in desk.log] == ["failed", "sent"]
