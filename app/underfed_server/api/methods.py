"""Which methods an address takes, as the description of the API says."""

from __future__ import annotations

import re

from fastapi import FastAPI


def methods_of(app: FastAPI, path: str) -> list[str]:
    """In capitals; none where there is nothing, or what is not described."""
    known = getattr(app.state, "methods", None)
    if known is None:
        known = app.state.methods = [(_pattern(each), methods) for each, methods in app.openapi()["paths"].items()]
    return sorted({method.upper() for pattern, methods in known if pattern.fullmatch(path) for method in methods})


def _pattern(template: str) -> re.Pattern[str]:
    """``/runs/{run_id}`` as what it stands for."""
    return re.compile("[^/]+".join(re.escape(part) for part in re.split(r"\{\w+\}", template)))
