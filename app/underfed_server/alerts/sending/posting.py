"""Posts one body over HTTP: to an address that was checked, within a deadline, following no redirect."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta

from underfed_server.alerts.sending.addresses import Address, Destination, resolve
from underfed_server.alerts.sending.attempt import DEADLINE_S, AttemptError, deadline, reached
from underfed_server.settings import Network

LONGEST_WAIT_S = 3_600
GONE = 410


class _Connection(http.client.HTTPConnection):
    """To one of these addresses, whatever the name resolves to by now."""

    def __init__(self, destination: Destination, addresses: Sequence[Address], context: ssl.SSLContext | None) -> None:
        super().__init__(destination.host, destination.port, timeout=DEADLINE_S)
        self._addresses = addresses
        self._context = context
        self.is_cut = False

    def connect(self) -> None:
        families = {4: socket.AF_INET, 6: socket.AF_INET6}
        self.sock = reached([(families[each.version], (str(each), self.port)) for each in self._addresses])
        if self._context is not None:
            # Its own timeout bounds each read of the handshake, the deadline all of it: what is cut is the new socket.
            self.sock = self._context.wrap_socket(self.sock, server_hostname=self.host, do_handshake_on_connect=False)
            self.sock.do_handshake()

    def cut(self) -> None:
        self.is_cut = True
        with suppress(OSError, AttributeError):
            # Not that of TLS, which would change what the other thread reads from.
            socket.socket.shutdown(self.sock, socket.SHUT_RDWR)


def post_body(
    destination: Destination,
    body: bytes,
    headers: Mapping[str, str],
    networks: Sequence[Network],
    context: ssl.SSLContext,
) -> None:
    """On return it was answered with success. Nothing of an answer but its status is read.

    Raises:
        AttemptError: it was not.
    """
    addresses = resolve(destination, networks)
    connection = _Connection(destination, addresses, context if destination.is_tls else None)
    try:
        with deadline(DEADLINE_S, connection.cut):
            connection.request("POST", destination.path, body, dict(headers))
            answer = connection.getresponse()
            status, asked = answer.status, answer.getheader("Retry-After")
        if connection.is_cut:
            # What had come until then may look like an answer.
            raise TimeoutError
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise AttemptError(_why(error, connection)) from error
    finally:
        connection.close()
    if not 200 <= status < 300:
        redirects = ", a redirect, which is not followed" if 300 <= status < 400 else ""
        raise AttemptError(f"it answered with {status}{redirects}", is_final=status == GONE, wait=_wait(asked))


def _why(error: Exception, connection: _Connection) -> str:
    """Without what the receiver wrote: it may be no receiver of webhooks at all."""
    if connection.is_cut or isinstance(error, TimeoutError):
        return f"it did not answer within {DEADLINE_S:.0f} s"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return "it does not speak TLS as it should"
    if isinstance(error, ConnectionRefusedError):
        return "the connection was refused"
    return "it cannot be reached" if isinstance(error, OSError) else "its answer is no HTTP"


def _wait(asked: str | None) -> timedelta | None:
    """Of ``Retry-After`` in seconds; a date is not read."""
    is_known = asked is not None and asked.isascii() and asked.isdigit() and len(asked) < 10
    return timedelta(seconds=min(int(asked), LONGEST_WAIT_S)) if is_known and asked else None
