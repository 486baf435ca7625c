"""Receivers of alerts: an HTTP server that answers as each test wants, and a mail server."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from standardwebhooks.webhooks import Webhook

from tests.fakes.service import PATIENCE_S

Answer = tuple[int, dict[str, str]]


@dataclass
class Received:
    """One request, whole."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def verified(self, secret: str) -> Any:
        """What a receiver reads that checks the signature with the reference library.

        Raises:
            WebhookVerificationError: it is not signed with this secret.
        """
        return Webhook(secret).verify(self.body, self.headers)


@dataclass
class Receiver:
    """Listens on a port of 127.0.0.1."""

    url: str
    got: list[Received] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    """Of the next requests, in turn; then 204."""
    came: threading.Condition = field(default_factory=threading.Condition)

    def wait(self, count: int = 1, within_s: float = PATIENCE_S) -> list[Received]:
        with self.came:
            assert self.came.wait_for(lambda: len(self.got) >= count, within_s), f"{len(self.got)} of {count} came"
            return list(self.got)


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            with receiver.came:
                receiver.got.append(Received(self.path, dict(self.headers), body))
                status, headers = receiver.answers.pop(0) if receiver.answers else (204, {})
                receiver.came.notify_all()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def misbehaving(act: Callable[[socket.socket], None]) -> Iterator[str]:
    """The URL of a server that does ``act`` with each connection, until it raises or returns."""
    listening = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            connections.append(connection)
            threading.Thread(target=attempt, args=(connection,), daemon=True).start()

    def attempt(connection: socket.socket) -> None:
        try:
            act(connection)
        except OSError:
            return

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        # Closing alone does not end an accept that waits.
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for connection in connections:
            connection.close()
        thread.join()


@dataclass
class Mailbox:
    """What a mail server took."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    recipients: list[Sequence[str]] = field(default_factory=list)
    refuse: str | None = None
    """What recipients are answered with."""
    logged_in: list[tuple[str, str]] = field(default_factory=list)

    async def handle_RCPT(  # noqa: N802 – as aiosmtpd calls it
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.refuse is not None and address.startswith("refused"):
            return self.refuse
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        self.mails.append(message_from_bytes(cast(bytes, envelope.content), policy=default))
        self.recipients.append(list(envelope.rcpt_tos))
        return "250 OK"

    def authenticate(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: LoginPassword
    ) -> AuthResult:
        self.logged_in.append((data.login.decode(), data.password.decode()))
        return AuthResult(success=data.password == b"right")


@contextmanager
def mail_server(**options: Any) -> Iterator[Mailbox]:
    """``options``: aiosmtpd's."""
    mailbox = Mailbox()
    controller = Controller(
        mailbox, hostname="127.0.0.1", port=free_port(), authenticator=mailbox.authenticate, **options
    )
    controller.start()
    mailbox.port = controller.port
    try:
        yield mailbox
    finally:
        controller.stop()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])
