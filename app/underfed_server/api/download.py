"""``/runs/{run_id}/export``: every recorded step, as a file to be kept or read by other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from underfed_server.api.dependencies import ALLOWED, StoreDep
from underfed_server.export.steps import Stretch, stretches
from underfed_server.export.table import as_csv, as_json, as_parquet
from underfed_server.export.trace import as_trace
from underfed_server.model import Run

router = APIRouter(tags=["runs"], dependencies=ALLOWED)

ExportFormat = Literal["csv", "parquet", "json", "trace"]

WRITTEN: Mapping[ExportFormat, tuple[Callable[[Run, Iterable[Stretch]], Iterator[bytes]], str, str]] = {
    "csv": (as_csv, "text/csv; charset=utf-8", "csv"),
    "parquet": (as_parquet, "application/vnd.apache.parquet", "parquet"),
    "json": (as_json, "application/json", "json"),
    "trace": (as_trace, "application/json", "trace.json"),
}
"""By format: its writer, media type and file extension."""


@router.get("/runs/{run_id}/export", response_class=StreamingResponse)
def export(
    run_id: str,
    store: StoreDep,
    format: Annotated[ExportFormat, Query(description="`trace` opens in Perfetto")] = "csv",
) -> StreamingResponse:
    """Every step with the batch it was given; those that retention deleted are left out."""
    run = store.run(run_id)
    write, media_type, ending = WRITTEN[format]
    headers = {"Content-Disposition": f'attachment; filename="{run_id}.{ending}"', "Cache-Control": "no-store"}
    return StreamingResponse(write(run, stretches(store, run)), media_type=media_type, headers=headers)
