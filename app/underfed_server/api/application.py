"""The API as one FastAPI application."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.middleware.gzip import GZipMiddleware

from underfed_server.api import (
    alerts,
    audit,
    docs,
    download,
    events,
    exposition,
    failures,
    hotspots,
    jobs,
    page,
    projects,
    runs,
    series,
    service,
    team,
    timeline,
    tokens,
    views,
    workers,
)
from underfed_server.api.dependencies import Parts
from underfed_server.api.required_scope import SCHEMES, require_declared
from underfed_server.ingest.endpoint import PATH

PREFIX = "/api/v1"
DESCRIPTION = (
    "Which training jobs wait for their input, why, and what to change. Durations are integer microseconds (_us), "
    "instants on the run clock likewise (it reads 0 at started_at), wall-clock times RFC 3339 UTC (_at), fractions "
    "0 to 1. null: not measured."
)

_FAILURE = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}}
INGEST = {
    "tags": ["ingest"],
    "operationId": "ingest",
    "summary": "Ingest",
    "description": "A window of one rank, as docs/wire.md describes it; acknowledged when it is on disk. Idempotent.",
    "security": [{"token": ["ingest"]}],
    "requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}},
    "responses": {
        "200": {
            "description": "On disk, now or already before",
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "required": ["next_window_index", "wants_run"],
                        "properties": {
                            "next_window_index": {"type": "integer"},
                            "wants_run": {"type": "boolean"},
                            "verdict": {"type": "object", "description": "What was last judged of the run"},
                            "verdict_age_us": {
                                "type": "integer",
                                "description": "Since what the verdict is on began to be read",
                            },
                        },
                    }
                }
            },
        },
        "400": {"description": "Never acceptable", "content": _FAILURE},
        "401": {"description": "A token is missing, or is not known", "content": _FAILURE},
        "403": {"description": "The token does not permit that", "content": _FAILURE},
        "409": {"description": "An earlier window is missing", "content": _FAILURE},
        "413": {"description": "Larger than the service reads", "content": _FAILURE},
        "415": {"description": "Not JSON, or of an unknown compression", "content": _FAILURE},
        "422": {"description": "A NUL in the address", "content": _FAILURE},
        "429": {"description": "Too many requests or bytes: try later", "content": _FAILURE},
        "503": {"description": "Later", "content": _FAILURE},
    },
}


class _Described(FastAPI):
    """Adds to the description what FastAPI does not know: the route in front of it, that events are a stream, and how
    callers say who they are.
    """

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            described = super().openapi()
            described["components"]["securitySchemes"] = SCHEMES
            paths = described["paths"]
            content = paths[f"{PREFIX}/events"]["get"]["responses"]["200"]["content"]
            content["text/event-stream"] = content.pop("application/json")
            paths[PATH] = {"post": INGEST}
        return super().openapi()


def build(parts: Parts) -> FastAPI:
    """The API, its description and the page. It neither opens nor closes ``parts``."""
    app = skeleton()
    app.state.parts = parts
    # Event streams are not compressed; small answers are not worth it.
    # Other requests wait meanwhile, so the level is low: 200 runs become 54 kB in 1.4 ms, at the usual one 46 kB in 11.
    app.add_middleware(GZipMiddleware, minimum_size=1_000, compresslevel=2)
    return app


def skeleton() -> FastAPI:
    """Every route, without a store behind them."""
    app = _Described(
        title="Underfed",
        version=version("underfed"),
        description=DESCRIPTION,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    failures.install(app)
    api = APIRouter(prefix=PREFIX, responses=failures.RESPONSES)
    asked = (
        runs, jobs, views, projects, series, workers, hotspots, timeline, download, team, audit, alerts, events,
        tokens, service,
    )  # fmt: skip
    require_declared([*(module.router for module in asked), service.health, exposition.router])
    for module in asked:
        api.include_router(module.router)
    app.include_router(api)
    app.include_router(service.health, responses=failures.RESPONSES)
    app.include_router(exposition.router, responses=failures.RESPONSES)
    docs.install(app)
    page.install(app)
    return app
