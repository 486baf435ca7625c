"""Runs are searched, selected, put away, deleted and brought back in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.app.made_diagnosis import made_diagnosis
from tests.app.made_windows import RUN, made_window
from tests.app.serving import application_in, serving, settings_for
from tests.app.store.posting import post

ENDED = {"end": {"status": "finished"}}


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A service with three runs that ended, on two hosts, and one that goes on."""
    application = application_in(tmp_path)
    store = application.parts.store
    for name, hostname in (("alpha", "gpu-03"), ("beta", "gpu-04"), ("gamma", "gpu-03")):
        post(store, [made_window(0, run_id=name, run=RUN | {"name": name, "hostname": hostname}, **ENDED)])
        store.save_diagnosis(made_diagnosis(name, status="finished"))
    post(store, [made_window(0, run_id="going", run=RUN | {"name": "going", "hostname": "gpu-09"})])
    with serving(application, settings_for(tmp_path)) as served:
        yield served


def rows(page: Page) -> list[str]:
    return sorted(page.locator("tbody a.run-name").all_inner_texts())


def test_selected_runs_are_deleted_and_brought_back(address: str, page: Page) -> None:
    page.goto(address)
    for name in ("alpha", "beta"):
        page.get_by_label(f"Select {name}").check()
    expect(page.get_by_label("Selected runs")).to_contain_text("2 runs selected")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("status").filter(has_text="2 runs deleted.")).to_be_visible()
    expect(page.locator("tbody a.run-name")).to_have_count(2)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("tbody a.run-name")).to_have_count(4)


def test_a_run_is_put_away_from_its_own_page_and_found_again(address: str, page: Page) -> None:
    page.goto(f"{address}/runs/beta")
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_role("button", name="Take out of the archive")).to_be_visible()
    page.goto(address)
    expect(page.locator("tbody a.run-name")).to_have_count(3)
    page.get_by_label("More for this list").click()
    page.get_by_role("button", name="Archived only").click()
    expect(page.locator("tbody a.run-name")).to_have_text(["beta"])
    page.reload()
    expect(page.locator("tbody a.run-name")).to_have_text(["beta"])


def test_a_run_that_goes_on_can_be_put_away_and_not_be_deleted(address: str, page: Page) -> None:
    page.goto(f"{address}/runs/going")
    expect(page.get_by_role("button", name="Archive")).to_be_visible()
    expect(page.get_by_role("button", name="Delete")).to_have_count(0)


def test_an_expression_is_searched_and_one_that_says_nothing_leaves_the_list(address: str, visitor: Page) -> None:
    visitor.goto(address)
    box = visitor.get_by_label("Search runs")
    box.fill("host:gpu-03 -name:gamma")
    expect(visitor.locator("tbody a.run-name")).to_have_text(["alpha"])
    box.fill("host:gpu-03 colour:red")
    expect(visitor.get_by_role("alert")).to_contain_text("Character 13: there is no key 'colour'")
    assert rows(visitor) == ["alpha"]
    box.fill("host:gpu-03")
    expect(visitor.get_by_role("alert")).to_have_count(0)
    expect(visitor.locator("tbody a.run-name")).to_have_count(2)
    assert re.search(r"q=host%3Agpu-03$", visitor.url)


def test_keys_are_offered_while_one_is_written(address: str, page: Page) -> None:
    page.goto(address)
    page.get_by_label("Search runs").fill("alpha bou")
    assert page.locator("#search-terms option").evaluate_all("all => all.map(one => one.value)") == ["alpha bound:"]


def test_the_keyboard_selects_runs(address: str, page: Page) -> None:
    page.goto(address)
    expect(page.locator("tbody a.run-name")).to_have_count(4)
    page.keyboard.press("j")
    expect(page.locator("a.run-name:focus")).to_have_count(1)
    page.keyboard.press("x")
    expect(page.get_by_label("Selected runs")).to_contain_text("1 run selected")
    page.keyboard.press("Escape")
    expect(page.get_by_label("Selected runs")).to_have_count(0)
