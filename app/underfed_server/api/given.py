"""What routes are given: the store and who asks, found on the application they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, NamedTuple

from fastapi import Depends, Query, Request

from underfed_server.api.access import Access
from underfed_server.api.pulse import Pulse
from underfed_server.api.stream import Events
from underfed_server.api.traffic import RequestTally
from underfed_server.model import Run
from underfed_server.store.store import Store


@dataclass(frozen=True, slots=True)
class Parts:
    """What the API is made from."""

    store: Store
    access: Access
    events: Events
    pulse: Pulse
    requests: RequestTally
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


class Choice(NamedTuple):
    """What a question about recorded rows is about."""

    run: Run
    rank: int
    loader: str | None
    """``None``: no step was recorded yet."""


def choose(store: Store, run_id: str, rank: int | None, loader: str | None) -> Choice:
    """The rank and loader that were asked for, else the lowest rank and the loader that was judged.

    Raises:
        NotFoundError: there is no such run.
    """
    run = store.run(run_id)
    return Choice(run, rank if rank is not None else min(run.ranks, default=0), loader or store.main_loader(run_id))


GivenParts = Annotated[Parts, Depends(parts_of)]
GivenStore = Annotated[Store, Depends(store_of)]
GivenRank = Annotated[int | None, Query(ge=0, description="Default: the lowest")]
GivenLoader = Annotated[str | None, Query(description="Default: the one that was judged")]
ALLOWED = [Depends(require_access)]
