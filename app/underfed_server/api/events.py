"""``/events``: one stream a page, with all topics it watches."""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from underfed_server.api.dependencies import ALLOWED, PartsDep, PermissionDep
from underfed_server.api.event_streams import ALL_RUNS, Watching, since_of
from underfed_server.errors import InvalidError
from underfed_server.model import RunEvent

router = APIRouter(tags=["events"], dependencies=ALLOWED)

MOST_TOPICS = 100
_TOPIC = re.compile(rf"{ALL_RUNS}|run:[A-Za-z0-9_-]{{1,64}}")


class EventStream(StreamingResponse):
    media_type = "text/event-stream"


@router.get("/events", responses={200: {"model": RunEvent}})
async def events(
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
    recall = None if since is None else partial(run_in_threadpool, parts.store.changed_since, since)
    # nginx would hold events back until its buffer is full.
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    may = Watching(see=permission.opens, go_on=partial(parts.access.is_live, permission))
    return EventStream(parts.events.watch(topic, recall, may), headers=headers)
