"""The page: built files that never change under their name, and one HTML file for every address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import FileResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

STATIC = Path(__file__).parents[1] / "static"

NOT_BUILT = (
    "The page was not built: this is a checkout or a package without it. `pip install .` builds it; "
    "the API works without, see /docs.\n"
)


class _Assets(StaticFiles):
    """Their names carry a digest of their content."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def install(app: FastAPI, static: Path = STATIC) -> None:
    """Last of all routes: it answers what no other one did."""
    app.mount("/assets", _Assets(directory=static / "assets", check_dir=False), name="assets")
    beside = {path.name: path for path in static.glob("*") if path.is_file()}

    @app.api_route("/{path:path}", methods=["GET", "HEAD"], include_in_schema=False)
    def page(path: str) -> Response:
        if path == "api" or path.startswith("api/"):
            raise HTTPException(404)
        file = beside.get(path) or static / "index.html"
        if not file.is_file():
            return PlainTextResponse(NOT_BUILT, status_code=503)
        return FileResponse(file, headers={"Cache-Control": "no-cache"})
