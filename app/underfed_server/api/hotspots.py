"""``/runs/{run_id}/hotspots``: what loading threads, or the training thread, were seen to execute, and slow samples."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from underfed_server.api.dependencies import MOST_RANK, LoaderQuery, StoreDep, parts_of
from underfed_server.api.required_scope import needs
from underfed_server.api.served_hotspots import page_of
from underfed_server.facts.hotspots import read_hotspots
from underfed_server.model import HotspotsPage, Sampled

router = APIRouter(tags=["runs"])

OneRankQuery = Annotated[int | None, Query(ge=0, le=MOST_RANK, description="Default: all ranks together")]


@router.get("/runs/{run_id}/hotspots", response_model=HotspotsPage, **needs("view"))
def hotspots(
    run_id: str,
    store: StoreDep,
    request: Request,
    rank: OneRankQuery = None,
    loader: LoaderQuery = None,
    of: Annotated[Sampled, Query(description="`step`: the training thread between batches (`--profile`)")] = "loading",
) -> Response:
    """Functions and lines with their shares of loading, the stacks that they were found in, and the slowest samples."""
    run, name = store.run(run_id), loader or store.shown_loader(run_id)
    if name is None:
        nothing = page_of((run_id, None, rank), of, read_hotspots(store, run_id, None), run.no_loader)
        page = nothing.model_dump_json().encode()
    else:
        page = parts_of(request).hotspots.page(store, run, name, rank, of)
    return Response(page, media_type="application/json")
