"""Runs are searched, selected, archived, deleted and restored in a real browser."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.app.made_diagnosis import made_diagnosis
from tests.app.made_windows import RUN, made_window
from tests.app.serving import OWNER, application_in, serving, settings_for
from tests.app.store.posting import post
from tests.e2e.conftest import as_owner, move, settle
from underfed_server.store.store import Store

ENDED = {"end": {"status": "finished"}}


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A service with three runs that ended, on two hosts, and one that goes on."""
    application = application_in(tmp_path)
    store = application.parts.store
    now = datetime.now(timezone.utc).isoformat()  # of the last seven days
    for name, hostname in (("alpha", "gpu-03"), ("beta", "gpu-04"), ("gamma", "gpu-03")):
        post(
            store,
            [made_window(0, run_id=name, started_at=now, run=RUN | {"name": name, "hostname": hostname}, **ENDED)],
        )
        store.save_diagnosis(made_diagnosis(name, status="finished"))
    post(store, [made_window(0, run_id="going", started_at=now, run=RUN | {"name": "going", "hostname": "gpu-09"})])
    with serving(application, settings_for(tmp_path)) as served:
        yield served


def rows(page: Page) -> list[str]:
    return sorted(page.locator("tbody a.run-name").all_inner_texts())


def test_selected_runs_are_deleted_and_brought_back(address: str, page: Page) -> None:
    as_owner(page, address, OWNER)
    page.goto(address)
    for name in ("alpha", "beta"):
        page.get_by_label(f"Select {name}").check()
    expect(page.get_by_label("Selected runs")).to_contain_text("2 runs selected")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", name="Delete 2 runs?")).to_be_visible()
    expect(dialog).to_contain_text("can be restored for 30 days")
    expect(dialog).to_contain_text("The 4 hours that they lost stay in the figures of the week and the team.")
    found = Axe().run(page, {"include": [["dialog"]]})
    assert found.violations_count == 0, found.generate_report()
    week = page.locator("#week-sentence").inner_text()
    page.get_by_role("button", name="Delete 2 runs").click()
    notice = page.get_by_role("status").filter(has_text="2 runs deleted. They can be restored for 30 days.")
    expect(notice).to_be_visible()
    expect(page.locator("tbody a.run-name")).to_have_count(2)
    expect(page.locator("#week-sentence")).to_have_text(week)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("tbody a.run-name")).to_have_count(4)


def test_a_deleted_run_is_found_in_its_list_and_restored_while_another_page_looks_on(address: str, page: Page) -> None:
    as_owner(page, address, OWNER)
    other = page.context.new_page()
    other.goto(address)
    expect(other.locator("tbody a.run-name")).to_have_count(4)
    page.goto(f"{address}/runs/beta")
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete 1 run").click()
    expect(page.locator("tbody a.run-name")).to_have_count(3)
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    expect(other.locator("tbody a.run-name")).to_have_count(3)
    page.get_by_label("More actions").click()
    page.get_by_role("button", name="Deleted runs").click()
    expect(page.locator("tbody span.row-name")).to_have_text(["beta"])
    page.get_by_label("Select beta").check()
    page.get_by_role("button", name="Restore").click()
    expect(page.locator("tbody span.row-name")).to_have_count(0)
    expect(other.locator("tbody a.run-name")).to_have_count(4)


def test_a_view_keeps_columns_and_grouping_for_the_team(address: str, page: Page) -> None:
    as_owner(page, address, OWNER)
    page.goto(f"{address}/?columns=wait,config:lr&sort=config:lr")
    expect(page.get_by_role("columnheader", name="lr")).to_be_visible()
    page.get_by_role("button", name="Views").click()
    page.get_by_role("button", name="By job").click()
    expect(page.locator(".jobs-table tbody").first).to_be_visible()
    page.get_by_role("button", name="Save this list").click()
    page.get_by_label("Name").fill("by job")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="is saved")).to_be_visible()
    page.goto(address)
    page.get_by_role("button", name="Views").click()
    page.get_by_role("link", name="by job").click()
    expect(page.locator(".jobs-table tbody").first).to_be_visible()
    move(page, "/team")
    expect(page.locator(".log")).to_contain_text("saved the view by job")
    found = Axe().run(page, {"include": [[".log"]]})
    assert found.violations_count == 0, found.generate_report()


def test_a_run_is_archived_on_its_own_page_and_found_again_and_a_running_one_cannot_be_deleted(
    address: str, page: Page
) -> None:
    as_owner(page, address, OWNER)
    page.goto(f"{address}/runs/going")
    expect(page.get_by_role("button", name="Archive")).to_be_visible()
    expect(page.get_by_role("button", name="Delete")).to_have_count(0)
    move(page, "/runs/beta")
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_role("button", name="Unarchive")).to_be_visible()
    move(page, "/")
    expect(page.locator("tbody a.run-name")).to_have_count(3)
    page.get_by_label("More actions").click()
    page.get_by_role("button", name="Archived only").click()
    expect(page.locator("tbody a.run-name")).to_have_text(["beta"])
    page.reload()
    expect(page.locator("tbody a.run-name")).to_have_text(["beta"])


def test_an_expression_is_searched_one_that_says_nothing_leaves_the_list_and_the_list_is_saved_as_csv(
    address: str, visitor: Page
) -> None:
    visitor.goto(address)
    box = visitor.get_by_label("Search runs")
    box.fill("host:gpu-03 -name:gamma")
    expect(visitor.locator("tbody a.run-name")).to_have_text(["alpha"])
    box.fill("host:gpu-03 colour:red")
    expect(visitor.get_by_role("alert")).to_contain_text("The search was not understood: there is no key 'colour'")
    expect(visitor.locator("#search-refused mark")).to_have_text("colour:red")
    expect(visitor.get_by_role("link", name="slow storage")).to_be_visible()
    assert rows(visitor) == ["alpha"]
    box.fill("host:gpu-03")
    expect(visitor.get_by_role("alert")).to_have_count(0)
    expect(visitor.locator("tbody a.run-name")).to_have_count(2)
    assert re.search(r"q=host%3Agpu-03$", visitor.url)
    visitor.get_by_label("More actions").click()
    with visitor.expect_download() as saving:
        visitor.get_by_role("button", name="Save as CSV").click()
    lines = list(csv.DictReader(io.StringIO(saving.value.path().read_text())))
    assert sorted(line["name"] for line in lines) == ["alpha", "gamma"]
    assert {line["hosts"] for line in lines} == {"gpu-03"}
    box.fill("alpha bou")
    offered = visitor.locator("#search-terms option").evaluate_all("all => all.map(one => one.value)")
    assert offered == ["alpha bound:"], "keys are offered while one is written"


@pytest.fixture
def changing(tmp_path: Path) -> Iterator[tuple[str, Store]]:
    """A service with three runs that go on and were judged, and its store."""
    application = application_in(tmp_path)
    store = application.parts.store
    for name, hours in (("alpha", 3.0), ("beta", 2.0), ("gamma", 1.0)):
        post(store, [made_window(0, run_id=name, run=RUN | {"name": name})])
        store.save_diagnosis(made_diagnosis(name, hours_lost=hours))
    with serving(application, settings_for(tmp_path)) as served:
        yield served, store


def lose(store: Store, name: str, hours: float, index: int) -> None:
    store.save_diagnosis(made_diagnosis(name, hours_lost=hours))
    post(store, [made_window(index, run_id=name)])


def test_rows_stay_under_the_pointer_and_are_sorted_when_it_leaves(changing: tuple[str, Store], page: Page) -> None:
    address, store = changing
    page.goto(address)
    names = page.locator("tbody a.run-name")
    expect(names).to_have_text(["alpha", "beta", "gamma"])
    names.nth(2).hover()
    lose(store, "gamma", 9.0, 1)
    expect(page.locator("tbody tr").nth(2)).to_contain_text("9.0 h")
    expect(page.locator(".pending")).to_contain_text("3 rows would move")
    expect(names).to_have_text(["alpha", "beta", "gamma"])
    page.mouse.move(700, 5)
    expect(names).to_have_text(["gamma", "alpha", "beta"])
    expect(page.locator(".pending")).to_be_hidden()


def test_a_tag_is_given_to_all_that_are_chosen_and_taken_back(address: str, page: Page) -> None:
    as_owner(page, address, OWNER)
    page.goto(address)
    page.get_by_label("Select all runs").check()
    page.get_by_role("button", name="Tag", exact=True).click()
    page.get_by_label("Add to all").fill("team=night, sweep")
    found = Axe().run(page, {"include": [["dialog"]]})
    assert found.violations_count == 0, found.generate_report()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").filter(has_text="4 runs tagged.")).to_be_visible()
    expect(page.locator(".tag", has_text="team=night")).to_have_count(4)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".tag", has_text="team=night")).to_have_count(0)


def test_a_cause_and_a_day_choose_what_is_listed_and_can_be_shared_and_columns_are_remembered(
    address: str, page: Page
) -> None:
    page.goto(address)
    page.get_by_role("button", name="Columns").click()
    page.locator(".sheet").get_by_label("Ranks").check()
    page.locator(".sheet").get_by_label("Status").uncheck()
    page.keyboard.press("Escape")
    cause = page.locator(".causes button").first
    cause.focus()
    page.keyboard.press("Enter")
    expect(cause).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile(r"q=cause%3A"))
    page.reload()
    expect(page.locator(".causes button").first).to_have_attribute("aria-pressed", "true")
    expect(page.locator("tbody a.run-name").first).to_be_visible()
    expect(page.get_by_role("columnheader", name="Ranks")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Status")).to_have_count(0)
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("button", name="Show as many as fit").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("columnheader", name="Status")).to_be_visible()
    page.get_by_label(re.compile("Remove filter")).click()
    expect(page).to_have_url(re.compile(r"^[^?]*$"))
    page.locator(".days button").first.click()
    expect(page.get_by_label(re.compile("Remove filter running on"))).to_be_visible()
    expect(page.get_by_text("No run matches")).to_be_visible()
    page.get_by_role("link", name="Clear filters").click()
    expect(page.locator("tbody a.run-name")).to_have_count(4)


def test_the_table_is_as_wide_as_its_room_and_its_head_stays_in_sight_and_hides_no_row_that_the_keyboard_comes_to(
    address: str, page: Page
) -> None:
    page.goto(address)
    expect(page.locator("tbody a.run-name").first).to_be_visible()
    for width in (641, 700, 1024, 2560):
        page.set_viewport_size({"width": width, "height": 800})
        settle(page)
        assert page.locator(".runs-table").evaluate("all => all.scrollWidth <= all.clientWidth"), width
        expect(page.get_by_role("columnheader", name="Wait", exact=True)).to_be_visible()

    boxes = page.locator("tbody input")
    boxes.nth(0).click()
    boxes.nth(2).click(modifiers=["Shift"])
    expect(page.get_by_label("Selected runs")).to_contain_text("3 runs selected")
    page.keyboard.press("Escape")
    expect(page.get_by_label("Selected runs")).to_have_count(0)

    page.set_viewport_size({"width": 1440, "height": 200})
    settle(page)
    page.locator("tbody a.run-name").last.focus()
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    head = page.locator("thead").bounding_box()
    filters = page.locator(".filters").bounding_box()
    first = page.locator("thead th").last.bounding_box()
    assert head and filters and first
    assert head["y"] < first["y"] == pytest.approx(filters["height"], abs=1), "it left its place and went with us"
    for _ in range(7):
        page.keyboard.press("Shift+Tab")
        focused = page.evaluate("document.activeElement.getBoundingClientRect().top")
        assert focused >= first["y"] + first["height"] - 1


def test_runs_are_chosen_with_a_finger_on_a_phone(address: str, phone: Page) -> None:
    as_owner(phone, address, OWNER)
    phone.goto(address)
    cells = phone.locator("tbody .tick")
    expect(cells).to_have_count(4)
    for index in (0, 2):
        # Beside the box: its whole cell is pressed, and not the run opened that the rest of the row leads to.
        cells.nth(index).click(position={"x": 4, "y": 8})
    bar = phone.get_by_role("region", name="Selected runs")
    expect(bar).to_contain_text("2 runs selected")
    for name in ("Compare", "Tag", "Archive", "Delete", "Clear"):
        expect(bar.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    assert phone.evaluate("() => document.documentElement.scrollWidth") <= 390
    found = Axe().run(phone)
    assert found.violations_count == 0, found.generate_report()
    bar.get_by_role("button", name="Archive").click()
    expect(phone.get_by_role("status").filter(has_text="2 runs archived")).to_be_visible()
    expect(phone.locator("tbody a.run-name")).to_have_count(2)
