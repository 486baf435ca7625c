"""What a proxy in front of the service says of a request: trusted from the configured addresses, else not read."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from underfed_server.errors import ForbiddenError
from underfed_server.ingest.asgi import Headers, Scope
from underfed_server.settings import Network, Settings

LONGEST_NAME = 200


class Person(NamedTuple):
    """Who is signed in at the proxy."""

    name: str
    groups: frozenset[str] = frozenset()
    """Those that the service has something to say of."""


class Proxy:
    def __init__(self, settings: Settings) -> None:
        self._networks = settings.proxy_addresses
        self._user_header = (settings.proxy_user_header or "").lower().encode("latin-1")
        self._groups_header = settings.proxy_groups_header.lower().encode("latin-1")
        self._groups = frozenset(settings.proxy_groups)

    def seen(self, scope: Scope, headers: dict[bytes, bytes]) -> Person | None:
        """Who asks, as the proxy says. Puts scheme, host and address of the client in place of the proxy's own.

        Raises:
            ForbiddenError: two headers name a user or groups.
        """
        client = scope.get("client")
        if not self._networks or client is None or not trusts(self._networks, client[0]):
            return None
        scheme = _last(headers, b"x-forwarded-proto")
        if scheme in (b"http", b"https"):
            scope["scheme"] = scheme.decode()
        if host := _last(headers, b"x-forwarded-host"):
            headers[b"host"] = host
            scope["headers"] = [(name, value) for name, value in scope["headers"] if name != b"host"]
            scope["headers"].append((b"host", host))
        scope["client"] = (self._client(headers) or client[0], client[1])
        return self._person(scope)

    def _client(self, headers: Headers) -> str | None:
        """The last address of ``X-Forwarded-For`` that is no proxy of ours: anybody can write what stands before it.

        ``None``: there is none; the proxy itself is then the client, for each word that is no address would be another.
        """
        named = headers.get(b"x-forwarded-for", b"").decode("latin-1").split(",")
        others = (address for each in reversed(named) if (address := _without_port(each.strip())))
        return next((address for address in others if not trusts(self._networks, address)), None)

    def _person(self, scope: Scope) -> Person | None:
        """``None``: nobody is signed in at the proxy, or the header is not configured."""
        if not self._user_header:
            return None
        name = _only(scope, self._user_header).strip()
        if not name or not name.isprintable() or len(name) > LONGEST_NAME:
            return None
        if not self._groups:
            return Person(name)
        # What HTTP calls space, and no other: a group may be called the same but for a wider one.
        named = (each.strip(" \t") for each in _only(scope, self._groups_header).split(","))
        return Person(name, self._groups.intersection(named))


def _only(scope: Scope, header: bytes) -> str:
    """Empty: it did not come.

    Raises:
        ForbiddenError: it came twice, once from the client perhaps: the proxy adds to it instead of replacing it.
    """
    values = [value for name, value in scope["headers"] if name == header]
    if len(values) > 1:
        named = header.decode("latin-1")
        raise ForbiddenError(
            f"the header {named} came twice: the proxy must drop it where a client sends it", field=named
        )
    return values[0].decode("utf-8", "replace") if values else ""


def _without_port(text: str) -> str | None:
    """``198.51.100.7:4711``, ``[2001:db8::7]:4711`` and ``2001:db8::7`` without what differs with each connection."""
    quoted = text.strip('"')
    bracketed = re.fullmatch(r"\[(.+)\](:\d+)?", quoted)
    address = bracketed[1] if bracketed else quoted.partition(":")[0] if quoted.count(":") == 1 else quoted
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return None


def _last(headers: Headers, name: bytes) -> bytes:
    """Of several values, that of the nearest proxy."""
    return headers.get(name, b"").rpartition(b",")[2].strip()


@lru_cache(maxsize=4_096)
def trusts(networks: Sequence[Network], address: str) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return any(found in network for network in networks)
