"""The description of the API that the page's types are made from is that of the service."""

from __future__ import annotations

import pytest

from tests.app.described import COMMITTED, DESCRIBED
from underfed_server.api.dependencies import LISTS
from underfed_server.api.openapi import description

ROUTES = {
    "/api/v1/ingest": {"post"},
    "/api/v1/runs": {"get"},
    "/api/v1/runs/{run_id}": {"get", "patch", "delete"},
    "/api/v1/runs/{run_id}/restore": {"post"},
    "/api/v1/runs/{run_id}/diagnosis": {"get"},
    "/api/v1/runs/{run_id}/series": {"get"},
    "/api/v1/runs/{run_id}/workers": {"get"},
    "/api/v1/runs/{run_id}/hotspots": {"get"},
    "/api/v1/runs/{run_id}/timeline": {"get"},
    "/api/v1/runs/{run_id}/export": {"get"},
    "/api/v1/runs/{run_id}/history": {"get"},
    "/api/v1/jobs": {"get"},
    "/api/v1/config": {"get"},
    "/api/v1/views": {"get", "post"},
    "/api/v1/views/{view_id}": {"patch", "delete"},
    "/api/v1/audit": {"get"},
    "/api/v1/alerts": {"get"},
    "/api/v1/alerts/channels": {"post"},
    "/api/v1/alerts/channels/{channel_id}": {"delete"},
    "/api/v1/alerts/channels/{channel_id}/test": {"post"},
    "/api/v1/alerts/rules": {"post"},
    "/api/v1/alerts/rules/{rule_id}": {"delete"},
    "/api/v1/alerts/log": {"get"},
    "/api/v1/alerts/log/{alert_id}": {"get"},
    "/api/v1/compare": {"get"},
    "/api/v1/projects": {"get"},
    "/api/v1/projects/{project}/retention": {"get", "put"},
    "/api/v1/projects/{project}/retention/preview": {"get"},
    "/api/v1/users": {"get"},
    "/api/v1/team": {"get"},
    "/api/v1/hosts": {"get"},
    "/api/v1/events": {"get"},
    "/api/v1/tokens": {"get", "post"},
    "/api/v1/tokens/{token_id}": {"delete"},
    "/api/v1/service": {"get"},
    "/api/v1/session": {"post", "delete"},
    "/healthz": {"get"},
    "/readyz": {"get"},
    "/metrics": {"get"},
}


def test_the_committed_description_is_up_to_date() -> None:
    assert COMMITTED.read_text() == description(), (
        "the API has changed; run `.venv/bin/python -m underfed_server.api.openapi > frontend/openapi.json` "
        "and `npm --prefix frontend run codegen`"
    )


def test_the_routes_are_those_of_the_contract() -> None:
    assert {path: set(methods) for path, methods in DESCRIBED["paths"].items()} == ROUTES


@pytest.mark.parametrize("path", [path for path in ROUTES if path.startswith("/api/")])
def test_every_refusal_is_described_in_the_one_shape(path: str) -> None:
    for operation in DESCRIBED["paths"][path].values():
        for status, response in operation["responses"].items():
            if status >= "400":
                assert response["content"]["application/json"]["schema"]["$ref"].endswith("/ErrorBody")


def test_only_list_parameters_may_be_given_more_than_once() -> None:
    asked = [
        (parameter["name"], parameter["schema"].get("type") == "array")
        for methods in DESCRIBED["paths"].values()
        for operation in methods.values()
        for parameter in operation.get("parameters", [])
    ]
    assert {name for name, is_list in asked if is_list} <= LISTS
    assert not {name for name, is_list in asked if not is_list and name != "run_id"} & LISTS


def test_every_operation_says_what_it_is_for() -> None:
    for path, methods in DESCRIBED["paths"].items():
        for method, operation in methods.items():
            assert operation.get("description"), f"{method} {path}"


def test_what_is_streamed_has_its_shape_described_too() -> None:
    assert "RunEvent" in DESCRIBED["components"]["schemas"]
    assert "HTTPValidationError" not in DESCRIBED["components"]["schemas"]
