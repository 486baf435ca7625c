"""Tokens for tests, made as an administrator makes them."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient

from underfed_server.main import Application

ROOT = "the-token-that-the-service-was-started-with"
ORIGIN = "http://underfed.example:7077"


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def visitor(application: Application, token: str | None = None) -> TestClient:
    """A client with this token, or without one."""
    return TestClient(application, base_url=ORIGIN, headers=bearer(token) if token else {})


def make_token(application: Application, *scopes: str, **asked: Any) -> dict[str, Any]:
    """The whole answer, with the secret under ``token``."""
    answer = visitor(application, ROOT).post("/api/v1/tokens", json={"name": "made", "scopes": scopes} | asked)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made
