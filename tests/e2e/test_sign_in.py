"""A service that asks for a token, in a real browser: in with it, out again, and out when it is revoked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.app.made_windows import RUN, made_window, posted
from tests.app.operations.asking import ask, send
from tests.app.serving import Service, start_service
from tests.e2e.conftest import move
from underfed_server.terminal.client import Client

INGEST = "/api/v1/ingest"
ENDED = {"status": "finished"}
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


def test_who_only_reads_sees_in_one_sentence_why_and_how_to_change(page: Page, opened: Service) -> None:
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
    move(visitor, "/runs/run-1")
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
    expect(visitor.get_by_role("alert")).to_have_text(
        "this token is not known here: it is wrong, was revoked, or has expired"
    )
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


GROUPS = '{"readers": {"*": "view"}, "vision": {"vision": "edit"}, "leads": {"vision": "admin"}}'


@pytest.fixture
def behind_proxy(tmp_path: Path) -> Iterator[Service]:
    """A service whose proxy is on this machine, with a run of vision and one of speech."""
    (tmp_path / "groups.json").write_text(GROUPS)
    proxy = ("--proxy-address", "127.0.0.1", "--proxy-user-header", "X-Forwarded-User")
    groups = ("--proxy-groups", str(tmp_path / "groups.json"))
    served = start_service(tmp_path / "underfed.db", *proxy, *groups, UNDERFED_TOKEN=ROOT)
    for project in ("vision", "speech"):
        window = made_window(0, run_id=project, run=RUN | {"project": project, "name": project}, end=ENDED)
        assert ask(served.address, INGEST, posted(window), {"Authorization": f"Bearer {ROOT}"}).status == 200
    yield served
    served.kill()


def test_a_page_offers_what_its_reader_may_do_and_says_why_not_the_rest(visitor: Page, behind_proxy: Service) -> None:
    def come(groups: str, path: str) -> None:
        visitor.set_extra_http_headers({"X-Forwarded-User": "ada", "X-Forwarded-Groups": groups})
        visitor.goto(behind_proxy.address + path)

    head, banner, buttons = (
        visitor.locator(".run-head"),
        visitor.get_by_role("banner"),
        ("Edit", "Archive", "Delete"),
    )

    def offered() -> list[str]:
        expect(visitor.locator("h1")).to_be_visible()
        expect(head.get_by_role("button", name="Export")).to_be_visible()
        return [name for name in buttons if head.get_by_role("button", name=name).count()]

    come("readers", "/runs/vision")
    assert offered() == []
    expect(head.get_by_text("read only")).to_have_attribute("title", re.compile("takes the scope edit"))
    expect(banner.get_by_text("ada (view)")).to_be_visible()
    come("readers,vision", "/runs/vision")
    assert offered() == ["Edit", "Archive"]
    expect(head.get_by_text("administrators delete")).to_be_visible()
    expect(banner.get_by_text("ada (edit)")).to_have_attribute("title", "Every project: view. vision: edit.")
    head.get_by_role("button", name="Archive").click()
    expect(head.get_by_role("button", name="Unarchive")).to_be_visible()
    found = Axe().run(visitor, {"include": [["header"], [".run-head"]]})
    assert found.violations_count == 0, found.generate_report()
    move(visitor, "/runs/speech")
    expect(visitor.locator("h1")).to_have_text("speech")
    assert offered() == []
    come("leads", "/runs/vision")
    assert offered() == ["Edit", "Archive", "Delete"]
    come("nobody", "/")
    expect(banner.get_by_text("ada (no access)")).to_be_visible()
    expect(visitor.get_by_text("the scope 'view' is needed to read; ada has none")).to_be_visible()
