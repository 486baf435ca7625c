"""``/runs/{run_id}/export``: every recorded step, or the stacks that were seen, as a file for other programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from underfed_server.api.admission.gate import address_of
from underfed_server.api.dependencies import PartsDep
from underfed_server.api.required_scope import needs
from underfed_server.budget import Budget
from underfed_server.export import formats
from underfed_server.export.formats import ExportFormat

router = APIRouter(tags=["runs"])


class _Export(StreamingResponse):
    """Counts while it is sent, however that ends; one too many is refused before its first byte."""

    def __init__(self, content: Iterator[bytes], at_once: Budget, media_type: str, headers: Mapping[str, str]) -> None:
        super().__init__(content, media_type=media_type, headers=headers)
        self._at_once = at_once

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises:
        TryLaterError: as many are being sent as may be, to all or to this client.
        """
        with self._at_once.held(address_of(scope)):
            await super().__call__(scope, receive, send)


@router.get("/runs/{run_id}/export", response_class=StreamingResponse, **needs("view"))
def export(
    run_id: str,
    parts: PartsDep,
    format: Annotated[
        ExportFormat,
        Query(description="`trace` opens in Perfetto; `collapsed` and `speedscope` are flame graphs of the loading"),
    ] = "csv",
) -> StreamingResponse:
    """Every step with the batch it was given, those that retention deleted left out; or the stacks that were seen."""
    run = parts.store.run(run_id)
    _, media_type, ending = formats.WRITTEN[format]
    headers = {"Content-Disposition": f'attachment; filename="{run_id}.{ending}"', "Cache-Control": "no-store"}
    return _Export(parts.export(parts.store, run, format), parts.limits.exports, media_type, headers)
