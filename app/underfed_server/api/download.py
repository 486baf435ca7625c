"""``/runs/{run_id}/export``: every recorded step, or the stacks that were seen, as a file for other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from underfed_server.api.admission.gate import address_of
from underfed_server.api.dependencies import PartsDep
from underfed_server.api.required_scope import needs
from underfed_server.budget import Budget
from underfed_server.export.stacks import Sampled, as_collapsed, as_speedscope, sampled_of
from underfed_server.export.steps import Stretch, stretches
from underfed_server.export.table import as_csv, as_json, as_parquet
from underfed_server.export.trace import as_trace
from underfed_server.model import Run
from underfed_server.store.store import Store

router = APIRouter(tags=["runs"])

ExportFormat = Literal["csv", "parquet", "json", "trace", "collapsed", "speedscope"]

Write = Callable[[Store, Run], Iterator[bytes]]


def _steps(write: Callable[[Run, Iterable[Stretch]], Iterator[bytes]]) -> Write:
    return lambda store, run: write(run, stretches(store, run))


def _stacks(write: Callable[[Iterable[Sampled]], Iterator[bytes]]) -> Write:
    return lambda store, run: write(sampled_of(store, run))


WRITTEN: Mapping[ExportFormat, tuple[Write, str, str]] = {
    "csv": (_steps(as_csv), "text/csv; charset=utf-8", "csv"),
    "parquet": (_steps(as_parquet), "application/vnd.apache.parquet", "parquet"),
    "json": (_steps(as_json), "application/json", "json"),
    "trace": (_steps(as_trace), "application/json", "trace.json"),
    "collapsed": (_stacks(as_collapsed), "text/plain; charset=utf-8", "collapsed.txt"),
    "speedscope": (_stacks(as_speedscope), "application/json", "speedscope.json"),
}
"""By format: its writer, media type and file extension."""


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
    write, media_type, ending = WRITTEN[format]
    headers = {"Content-Disposition": f'attachment; filename="{run_id}.{ending}"', "Cache-Control": "no-store"}
    return _Export(write(parts.store, run), parts.limits.exports, media_type, headers)
