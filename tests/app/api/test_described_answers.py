"""Each route answers as its description says: of what is there and what is not, at and beyond the bounds of each value.

What Schemathesis makes of the same description is asked in ``make soak`` (``hostile/test_description.py``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from starlette.testclient import TestClient

from tests.app.alerts.conftest import HERE
from tests.app.api.visitors import ROOT, visitor
from tests.app.conftest import Opening
from tests.app.described import DESCRIBED, PATHS
from tests.app.made_windows import made_stream
from tests.app.serving import settings_for
from tests.app.store.posting import post
from underfed_server.diagnose import Diagnoser
from underfed_server.main import Application, create_app

COMPONENTS = DESCRIBED["components"]

WITHOUT_END = ("/api/v1/events", "get")

THERE = {"run_id": "run-1", "project": "vision", "metric": "step_us", "topic": "runs", "hostname": "trainer"}
"""By parameter."""
WANTED = {
    "url": "https://example.com/", "scopes": ["view"], "expires_at": "2099-01-01T00:00:00Z", "token": ROOT,
    "project": "vision",
}  # fmt: skip
"""By the field of a body, where what its kind alone says is not enough."""
NOT_THERE = ("x", "a\0b", "long" * 200)
KINDS: Sequence[Any] = (7, -(2**70), 1.5, True, None, "x", "a\0b", [], [1], {}, {"x": {}})
"""One of each kind of JSON, in place of what is wanted."""


@pytest.fixture(scope="module")
def opening(tmp_path_factory: pytest.TempPathFactory) -> Opening:
    directory = tmp_path_factory.mktemp("service")

    def opened(url: str) -> Application:
        settings = replace(settings_for(directory, token=ROOT), database_url=url, alerts=HERE, requests_per_s=math.inf)
        application = create_app(settings)
        for run_id in ("run-1", "run-2"):
            *windows, last = made_stream(20, run_id=run_id)
            post(application.parts.store, [*windows, last | {"end": {"status": "finished"}}])
            Diagnoser()(application.parts.store, run_id)
        return application

    return opened


@pytest.mark.parametrize("databases", ["postgresql", pytest.param("sqlite", marks=pytest.mark.soak)], indirect=True)
def test_every_answer_is_as_described(application: Application) -> None:
    """PostgreSQL refuses numbers and characters that SQLite takes."""
    client = visitor(application, ROOT)
    asked = 0
    for path, operations in PATHS.items():
        for method, operation in operations.items():
            if (path, method) != WITHOUT_END:
                asked += sum(_is_as_described(client, operation, *each) for each in _requests(path, method, operation))
    assert asked > 900


Request = tuple[str, str, Mapping[str, Any], Any]
"""Method, path, query, and a body to be written as JSON."""


def _requests(path: str, method: str, operation: Mapping[str, Any]) -> Iterator[Request]:
    """Of one operation, each with one thing changed."""
    parameters = operation.get("parameters", [])
    query = {each["name"]: each["schema"] for each in parameters if each["in"] == "query"}
    wanted = {each["name"]: _usual(each["name"], each["schema"]) for each in parameters if each.get("required")}
    usual = {name: value for name, value in wanted.items() if name in query}
    names = [each["name"] for each in parameters if each["in"] == "path"]
    bodies = [*_bodies(operation)] or [None]
    yield from ((method, path.format_map(wanted), usual, body) for body in bodies)
    for value in NOT_THERE:
        if names:
            yield method, path.format_map(dict.fromkeys(names, value)), usual, bodies[0]
    for name, schema in query.items():
        for value in _values(name, schema):
            yield method, path.format_map(wanted), usual | {name: value}, bodies[0]


def _is_as_described(
    client: TestClient, operation: Mapping[str, Any], method: str, path: str, query: Mapping[str, Any], body: Any
) -> bool:
    content = None if body is None else json.dumps(body)
    headers = {} if body is None else {"content-type": "application/json"}
    answer = client.request(method, path.replace("\0", "%00"), params=dict(query), content=content, headers=headers)
    request = f"{method} {path} {query} {body}: {answer.status_code} {answer.text[:300]}"
    assert answer.status_code < 500, request
    assert str(answer.status_code) in operation["responses"], request
    described = operation["responses"][str(answer.status_code)].get("content", {})
    kind = answer.headers.get("content-type", "").split(";")[0]
    if kind == "application/json" and kind in described:
        found = [str(error) for error in _validator(json.dumps(described[kind]["schema"])).iter_errors(answer.json())]
        assert found == [], request
    else:
        # What is exported as a file is of the kinds that the description names in words.
        assert kind in described or not answer.content or path.endswith("/export"), request
    return True


@cache
def _validator(schema: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for({**json.loads(schema), "components": COMPONENTS})


def _plain(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of what may be null, what it is otherwise."""
    if "$ref" in schema:
        return _plain(COMPONENTS["schemas"][schema["$ref"].rsplit("/", 1)[1]])
    return _plain(schema["anyOf"][0]) if "anyOf" in schema else schema


def _usual(name: str, schema: Mapping[str, Any]) -> Any:
    known = THERE.get(name, "x")
    return ["run-1", "run-2"] if schema.get("minItems") == 2 else [known] if schema.get("type") == "array" else known


def _values(name: str, schema: Mapping[str, Any]) -> Sequence[Any]:
    """At its bounds, beyond them, and of another kind."""
    plain = _plain(schema)
    match plain.get("type"):
        case "integer":
            low, high = plain["minimum"], plain["maximum"]
            return low, high, low - 1, high + 1, "", "x"
        case "boolean":
            return "true", "false", "x"
        case "array":
            return [], ["x"] * (plain["maxItems"] + 1), ["a\0b"], _usual(name, plain)
    if "enum" in plain:
        return *plain["enum"], "none of these"
    return THERE.get(name, "2026-11-21T10:00:00Z"), "", '"', *NOT_THERE


def _bodies(operation: Mapping[str, Any]) -> Iterator[Any]:
    """One that is wanted, then those with a field of another kind or without it, then what is no such thing at all."""
    if "requestBody" not in operation:
        return
    schema = _plain(operation["requestBody"]["content"]["application/json"]["schema"])
    fields = schema.get("properties", {})
    wanted = {name: WANTED.get(name, _made(_plain(field))) for name, field in fields.items()}
    yield wanted
    for name in fields:
        yield {key: value for key, value in wanted.items() if key != name}
        yield from (wanted | {name: kind} for kind in KINDS)
    yield from KINDS


def _made(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    known = {"integer": int(schema.get("minimum", 1)), "number": 1.0, "boolean": False, "array": [], "object": {}}
    return known.get(schema.get("type", ""), "x")
