"""What the sender of a request may do: scopes, the project that its token is bound to, and the person behind it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from underfed_server.errors import ForbiddenError
from underfed_server.model import Scope

SCOPES: tuple[Scope, ...] = get_args(Scope)
ALL = frozenset(SCOPES)

_FOR = {"ingest": "send windows", "view": "read", "admin": "change anything"}


@dataclass(frozen=True, slots=True)
class Permission:
    """Permission of one request. ``admin`` includes the other scopes."""

    scopes: frozenset[Scope]
    project: str | None = None
    """The only project that it opens; ``None``: all."""
    token_id: str | None = None
    """The token that it comes from; ``None``: it comes from an address or a proxy instead."""
    session: bytes | None = None
    """Digest of the secret of the browser's session."""
    user: str | None = None
    """The user as the proxy in front of the service names them."""
    expires_at: datetime | None = None

    def has(self, scope: Scope) -> bool:
        return scope in self.scopes or "admin" in self.scopes

    def require(self, scope: Scope) -> None:
        """Raises:
        ForbiddenError: it does not have the scope.
        """
        if not self.has(scope) and self is OPEN:
            raise ForbiddenError(
                "only the owner of this service may change something: open the link that `underfed serve` printed, or "
                "sign in with the token in the file `owner-token` of its data directory",
                field=scope,
            )
        if not self.has(scope):
            has = " and ".join(sorted(self.scopes)) or "none"
            raise ForbiddenError(f"the scope {scope!r} is needed to {_FOR[scope]}; this token has {has}", field=scope)

    def opens(self, project: str) -> bool:
        return self.project is None or self.project == project


OPEN = Permission(frozenset({"ingest", "view"}))
"""Of whoever is on the machine of a service that asks nobody for a token."""

NOTHING = Permission(frozenset())
