"""``/events``: one stream a page, with all topics it watches."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from underfed_server.api.admission.gate import address_of, key_of_caller
from underfed_server.api.dependencies import PartsDep, PermissionDep
from underfed_server.api.event_streams import ALL_RUNS, Watching, since_of
from underfed_server.api.failures import answer
from underfed_server.api.required_scope import needs
from underfed_server.errors import InvalidError, TooManyRequestsError
from underfed_server.model import RunEvent

router = APIRouter(tags=["events"])

MOST_TOPICS = 100
_TOPIC = re.compile(rf"{ALL_RUNS}|run:[A-Za-z0-9_-]{{1,64}}")


class EventStream(StreamingResponse):
    media_type = "text/event-stream"

    def __init__(self, text: AsyncIterator[str], seat: AbstractContextManager[None], headers: dict[str, str]) -> None:
        super().__init__(text, headers=headers)
        self._seat = seat

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The seat is taken here, where it is certain to be given back."""
        try:
            with self._seat:
                await super().__call__(scope, receive, send)
        except TooManyRequestsError as error:
            await answer(error.status, error.detail(), error.headers)(scope, receive, send)


@router.get("/events", responses={200: {"model": RunEvent}}, **needs("view"))
async def events(
    request: Request,
    parts: PartsDep,
    permission: PermissionDep,
    topic: Annotated[list[str], Query(description="`runs`, or `run:RUN_ID`", max_length=MOST_TOPICS)],
    last_event_id: Annotated[str | None, Header(description="The last event seen before the stream broke")] = None,
) -> EventStream:
    """Server-sent events: a run has new windows, a new status or a new diagnosis; at most one per second and run."""
    for each in topic:
        if not _TOPIC.fullmatch(each):
            raise InvalidError(f"topic: {each!r} is neither `runs` nor `run:RUN_ID`", field="topic")
    since = since_of(last_event_id, parts.store.now()) if last_event_id else None
    # nginx would hold events back until its buffer is full.
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    may = Watching(see=permission.opens, go_on=partial(parts.access.is_live, permission))
    seat = parts.events.seat(address_of(request.scope), key_of_caller(request.scope, permission))
    return EventStream(parts.events.watch(topic, since, may), seat, headers)
