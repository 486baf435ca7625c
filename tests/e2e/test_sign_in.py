"""A service that asks for a token, in a real browser: in with it, out again, and out when it is revoked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.app.serving import Service, start_service
from underfed_server.terminal.client import Client

ROOT = "the-token-that-the-service-was-started-with"


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Service]:
    served = start_service(tmp_path / "underfed.db", UNDERFED_TOKEN=ROOT)
    yield served
    served.kill()


def sign_in(page: Page, token: str) -> None:
    page.get_by_label("Access token").fill(token)
    page.get_by_role("button", name="Sign in").click()


def test_a_browser_is_let_in_by_a_token_and_out_when_it_ends(visitor: Page, guarded: Service) -> None:
    root = Client(guarded.address, ROOT)
    sends, reads = (
        root.make_token({"name": scope, "scopes": [scope], "project": None, "expires_at": None})
        for scope in ("ingest", "view")
    )
    visitor.goto(guarded.address)
    sign_in(visitor, "wrong")
    expect(visitor.get_by_role("alert")).to_have_text("this token is not known here")
    sign_in(visitor, sends.token)
    expect(visitor.get_by_role("alert")).to_contain_text("the page needs one with 'view'")
    sign_in(visitor, reads.token)
    expect(visitor.get_by_text("underfed.watch(loader)")).to_be_visible()
    assert reads.token not in visitor.content()
    assert visitor.evaluate("document.cookie") == "", "scripts see nothing of the session"
    assert visitor.evaluate("localStorage.length + sessionStorage.length") == 0 or reads.token not in visitor.evaluate(
        "JSON.stringify({...localStorage, ...sessionStorage})"
    )
    visitor.get_by_role("button", name="Sign out").click()
    expect(visitor.get_by_label("Access token")).to_be_visible()
    sign_in(visitor, reads.token)
    expect(visitor.get_by_text("underfed.watch(loader)")).to_be_visible()
    root.revoke_token(reads.token_id)
    expect(visitor.get_by_label("Access token")).to_be_visible(timeout=20_000)
