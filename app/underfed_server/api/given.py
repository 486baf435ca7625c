"""What routes are given: the store and who asks, found on the application they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request

from underfed_server.api.access import Access
from underfed_server.api.pulse import Pulse
from underfed_server.api.stream import Events
from underfed_server.store.store import Store


@dataclass(frozen=True, slots=True)
class Parts:
    """What the API is made from."""

    store: Store
    access: Access
    events: Events
    pulse: Pulse
    started_at: datetime


def parts_of(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts


def store_of(request: Request) -> Store:
    return parts_of(request).store


def require_access(request: Request) -> None:
    """Raises:
    UnauthorisedError: no token or session, where one is asked for.
    """
    parts_of(request).access.require(dict(request.scope["headers"]))


GivenParts = Annotated[Parts, Depends(parts_of)]
GivenStore = Annotated[Store, Depends(store_of)]
ALLOWED = [Depends(require_access)]
