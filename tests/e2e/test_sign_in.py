"""A service that asks for a token, in a real browser: in with it, out again, and out when it is revoked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.app.made_windows import RUN, made_window
from tests.app.operations.asking import send
from tests.app.serving import Service, start_service
from underfed_server.terminal.client import Client

ROOT = "the-token-that-the-service-was-started-with"


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Service]:
    served = start_service(tmp_path / "underfed.db", UNDERFED_TOKEN=ROOT)
    yield served
    served.kill()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Service]:
    """A service that asks nobody for a token to read, with a run."""
    served = start_service(tmp_path / "underfed.db")
    assert send(served.address, made_window(0, run=RUN | {"name": "baseline"})).status == 200
    yield served
    served.kill()


def test_who_only_reads_is_told_in_one_sentence_why_and_how_to_change(page: Page, opened: Service) -> None:
    page.goto(f"{opened.address}/runs/run-1")
    asking = page.locator(".run-head").get_by_role("button", name="Sign in to change runs")
    expect(page.get_by_role("button", name="Sign in to change runs")).to_have_count(1)
    expect(asking).to_have_attribute("title", re.compile(r"owner.*“underfed serve” printed.*owner-token"))
    expect(page.get_by_role("button", name="Archive")).to_have_count(0)
    asking.click()
    expect(page.get_by_text("open the link that “underfed serve” printed")).to_be_visible()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.get_by_role("button", name="Only read").click()
    expect(page.locator("h1")).to_have_text("baseline")
    asking.click()
    page.get_by_label("Access token").fill(opened.owner_token)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("button", name="Archive")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name="Archive")).to_have_count(0)
    expect(page.locator("h1")).to_have_text("baseline")


def test_the_printed_link_signs_its_owner_in_once(visitor: Page, opened: Service) -> None:
    visitor.goto(opened.owner_link)
    expect(visitor.get_by_role("button", name="Sign out")).to_be_visible()
    expect(visitor).to_have_url(f"{opened.address}/")
    assert visitor.evaluate("document.cookie") == "", "scripts see nothing of the session"
    visitor.goto(f"{opened.address}/runs/run-1")
    visitor.get_by_role("button", name="Archive").click()
    expect(visitor.get_by_role("button", name="Unarchive")).to_be_visible()
    visitor.get_by_role("button", name="Sign out").click()
    visitor.goto("about:blank")
    visitor.goto(opened.owner_link)
    expect(visitor.get_by_text("This link signs in once, and did not")).to_be_visible()
    expect(visitor.get_by_role("button", name="Sign in to change runs").first).to_be_visible()


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
