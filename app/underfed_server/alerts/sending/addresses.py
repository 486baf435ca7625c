"""Where webhooks may go: to public addresses over TLS, and to the private networks that the operator names.

A rule may be made by whoever administers one project. Without this it could have the service post to what only the
service's own machine or network reaches. The address that was checked is the one that is connected to, so that a name
which resolves otherwise the second time gains nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from underfed_server.alerts.sending.attempt import AttemptError
from underfed_server.errors import InvalidError
from underfed_server.settings import Network

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

MOST_URL = 2_000
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Destination:
    """The parts of a webhook's URL."""

    scheme: str
    host: str
    port: int
    path: str
    """With the query; it may be a secret."""

    @property
    def is_tls(self) -> bool:
        return self.scheme == "https"


def parse(url: str, networks: Sequence[Network]) -> Destination:
    """Raises:
    InvalidError: no URL that a message can be posted to.
    """
    if len(url) > MOST_URL or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise InvalidError(f"url: printable ASCII without spaces, at most {MOST_URL} characters", field="url")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidError("url: this is no URL", field="url") from error
    if parts.scheme not in ("https", "http") or not parts.hostname or port == 0:
        raise InvalidError("url: it must begin with https:// and a host", field="url")
    if parts.username is not None or parts.password is not None:
        raise InvalidError("url: a user and password in it are not sent; leave them out", field="url")
    found = Destination(
        parts.scheme,
        parts.hostname,
        port or (443 if parts.scheme == "https" else 80),
        f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}",
    )
    literal = _literal(found.host)
    if literal is not None and (why := why_not(literal, found, networks)) is not None:
        raise InvalidError(f"url: {why}", field="url")
    return found


def resolve(destination: Destination, networks: Sequence[Network]) -> list[Address]:
    """The addresses of the host that may be connected to.

    Raises:
        AttemptError: it has none.
    """
    try:
        found = socket.getaddrinfo(destination.host, destination.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AttemptError("the name of its host cannot be resolved") from error
    addresses = [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in found]
    refused = [why for each in addresses if (why := why_not(each, destination, networks)) is not None]
    permitted = [each for each in addresses if why_not(each, destination, networks) is None]
    if not permitted:
        raise AttemptError(refused[0])
    return permitted


def why_not(address: Address, destination: Destination, networks: Sequence[Network]) -> str | None:
    """``None``: messages may be posted there."""
    real = _embedded(address)
    if any(real in network for network in networks):
        return None
    if not real.is_global or real.is_multicast:
        return f"{real} is no public address; the operator of the service permits it with --alert-networks"
    if not destination.is_tls:
        return "without TLS messages go only to networks that the operator of the service names with --alert-networks"
    return None


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def _embedded(address: Address) -> Address:
    """The IPv4 address that a packet to this one of IPv6 ends at, where it is such."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
