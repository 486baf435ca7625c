"""``/docs``: the API's description as one plain page.

The usual viewers load their script from another site, which our content policy forbids and a closed network blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response

Schema = Mapping[str, Any]

STYLE = """\
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
h2 { margin: 2.5rem 0 0; font-size: 1.1rem; }
h2 b { display: inline-block; min-width: 4.5rem; }
table { border-collapse: collapse; margin: 0.5rem 0; }
td { padding: 0.15rem 1rem 0.15rem 0; vertical-align: top; }
"""


def install(app: FastAPI) -> None:
    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        return HTMLResponse(page(app.openapi()))

    @app.get("/docs/style.css", include_in_schema=False)
    def style() -> Response:
        return Response(STYLE, media_type="text/css")


def page(openapi: Schema) -> str:
    """A whole HTML page of an OpenAPI description."""
    info = openapi["info"]
    schemas = openapi.get("components", {}).get("schemas", {})
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>{escape(info['title'])}</title><link rel=stylesheet href=/docs/style.css>",
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info.get('description', ''))}",
        "<p>For tools: <a href=/api/v1/openapi.json>/api/v1/openapi.json</a>.",
        *(_operation(path, method, each) for path, method, each in _operations(openapi)),
        "<h1>Shapes</h1>",
        *(_shape(name, schema) for name, schema in schemas.items()),
    ]
    return "\n".join(parts)


def _operations(openapi: Schema) -> Iterator[tuple[str, str, Schema]]:
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            yield path, method.upper(), operation


def _operation(path: str, method: str, operation: Schema) -> str:
    rows = [_row(each["name"], each["schema"], each.get("description", ""), each.get("required", False))
            for each in operation.get("parameters", [])]  # fmt: skip
    bodies = [f"<p>Body: {_type(schema)}" for schema in _contents(operation.get("requestBody", {}))]
    answers = [
        f"<p>{escape(status)}: {_type(schema)}"
        for status, response in operation["responses"].items()
        if status.startswith("2")
        for schema in _contents(response)
    ]
    said = f"{_scope(operation)} {escape(operation.get('description', ''))}"
    table = f"<table>{''.join(rows)}</table>" if rows else ""
    return f"<h2><b>{method}</b> <code>{escape(path)}</code></h2><p>{said}{table}{''.join(bodies + answers)}"


def _scope(operation: Schema) -> str:
    """As its caller needs it."""
    scopes = dict.fromkeys(scope for each in operation["security"] for held in each.values() for scope in held)
    return f"<b>Scope: {escape(', '.join(scopes) or 'none')}.</b>"


def _contents(holder: Schema) -> list[Schema]:
    return [content.get("schema", {}) for content in holder.get("content", {}).values()]


def _shape(name: str, schema: Schema) -> str:
    required = schema.get("required", [])
    rows = [_row(field, each, each.get("description", ""), field in required)
            for field, each in schema.get("properties", {}).items()]  # fmt: skip
    said = escape(schema.get("description", ""))
    return f"<h2 id={escape(name)}><code>{escape(name)}</code></h2><p>{said}<table>{''.join(rows)}</table>"


def _row(name: str, schema: Schema, description: str, required: bool) -> str:
    needed = "required" if required else ""
    default = f"default {escape(str(schema['default']))}" if schema.get("default") is not None else needed
    return f"<tr><td><code>{escape(name)}</code><td>{_type(schema)}<td>{default}<td>{escape(description)}</tr>"


def _type(schema: Schema) -> str:
    """``[Series]``, ``integer or null``, with links to the shapes."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rsplit("/", 1)[-1])
        return f"<a href=#{name}>{name}</a>"
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(f"<code>{escape(str(each))}</code>" for each in schema["enum"])
    if schema.get("type") == "array":
        return f"[{_type(schema.get('items', {}))}]"
    return escape(str(schema.get("format") or schema.get("type") or "any"))
