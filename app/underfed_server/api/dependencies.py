"""What routes are given: the store and the caller's permission, read from their application and request."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, NamedTuple

from fastapi import Depends, Query, Request
from pydantic import AwareDatetime, BeforeValidator

from underfed_server.alerts.alerting import Alerting
from underfed_server.api.admission.access import Access
from underfed_server.api.admission.rate_limits import RateLimits
from underfed_server.api.event_streams import Events
from underfed_server.api.scheduler import JudgementScheduler
from underfed_server.api.served_hotspots import ServedHotspots
from underfed_server.counters import Counters
from underfed_server.diagnose import LoaderDiagnoses
from underfed_server.errors import InvalidError
from underfed_server.export.formats import Export
from underfed_server.ingest.asgi import PERMISSION
from underfed_server.ingest.permission import NOTHING, Permission
from underfed_server.store.reading.tracks import Reader
from underfed_server.store.runs.audit_log import Author
from underfed_server.store.runs.diagnoses import read_named_rank
from underfed_server.store.runs.summaries import shown_loader
from underfed_server.store.store import Store
from underfed_server.store.team.retention_policy import RetentionPolicy
from underfed_server.team.pages import Pages

LISTS = frozenset({"config", "metric", "run_id", "topic"})
"""Parameters that may be given more than once."""

MOST_RANK = 10_000_000
"""As on the wire: a query value never exceeds what a database column can hold."""

MOST = 2**53
"""For steps and workers: every JSON parser reads it exactly."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the API is made from."""

    store: Store
    access: Access
    limits: RateLimits
    events: Events
    scheduler: JudgementScheduler
    loader_diagnoses: LoaderDiagnoses
    hotspots: ServedHotspots
    alerting: Alerting
    counters: Counters
    started_at: datetime
    default_policy: RetentionPolicy
    """How long rows are kept, where a project sets nothing else."""
    pages: Pages
    export: Export


def parts_of(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts


def store_of(request: Request) -> Store:
    return parts_of(request).store


def permission_of(request: Request) -> Permission:
    """What the caller may do: nothing, where the caller is not known."""
    return request.scope[PERMISSION] or NOTHING


def require_once(request: Request) -> None:
    """Reject two values of a single-valued parameter instead of choosing one.

    Raises:
        InvalidError: a parameter that takes one value was given several.
    """
    seen: set[str] = set()
    for name, _ in request.query_params.multi_items():
        if name in seen and name not in LISTS:
            raise InvalidError(f"{name}: give it once", field=name)
        seen.add(name)


def check_stretch(from_step: int, to_step: int | None) -> None:
    """Raises:
    InvalidError: the range contains no step.
    """
    if to_step is not None and to_step <= from_step:
        raise InvalidError(f"to_step: {to_step} does not come after from_step {from_step}", field="to_step")


class Choice(NamedTuple):
    """The rank and loader whose recorded rows are requested."""

    rank: int
    loader: str | None
    """``None``: no step was recorded yet."""


def choose(reader: Reader, run_id: str, rank: int | None, loader: str | None) -> Choice:
    """The requested rank and loader, else the judged loader, and of its ranks the one that its verdict names, or the
    lowest.

    Raises:
        NotFoundError: there is no such run.
    """
    its_loader = loader or shown_loader(reader.connection, run_id)
    named = read_named_rank(reader.connection, run_id, its_loader) if rank is None else rank
    return Choice(min(reader.ranks(run_id), default=0) if named is None else named, its_loader)


_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def _as_written(said: object) -> object:
    """Reject numbers: Pydantic would guess whether they are seconds or milliseconds of Unix time."""
    if (isinstance(said, str) and not _RFC_3339.fullmatch(said)) or isinstance(said, (int, float)):
        raise ValueError("an instant is written as 2026-11-21T10:00:00Z")
    return said


def author_of(request: Request) -> Author:
    """Who asks, as the audit log names them."""
    permission = permission_of(request)
    return Author(parts_of(request).access.name_of(permission), permission.token_id)


Instant = Annotated[AwareDatetime, BeforeValidator(_as_written)]
PartsDep = Annotated[Parts, Depends(parts_of)]
StoreDep = Annotated[Store, Depends(store_of)]
PermissionDep = Annotated[Permission, Depends(permission_of)]
AuthorDep = Annotated[Author, Depends(author_of)]
RankQuery = Annotated[
    int | None, Query(ge=0, le=MOST_RANK, description="Default: the one that the verdict names, else the lowest")
]
TagQuery = Annotated[str | None, Query(description="`key=value`, or `key` with any value")]
ExpressionQuery = Annotated[str | None, Query(description="A search expression, as docs/search.md describes it")]
CursorQuery = Annotated[str | None, Query(description="`next_cursor` of the page before")]
LoaderQuery = Annotated[str | None, Query(description="Default: the one that was judged")]
FromStepQuery = Annotated[int, Query(ge=0, le=MOST)]
ToStepQuery = Annotated[int | None, Query(ge=1, le=MOST, description="Exclusive; default: to the end")]
