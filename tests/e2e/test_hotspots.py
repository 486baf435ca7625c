"""Where loading spends its time, in a real browser: by keyboard, for everyone, exported, and where there is nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.e2e.conftest import move, settle

SAMPLED = "vit-b16-in1k-aug2"


@pytest.fixture
def page(inside: Page) -> Page:
    return inside


@pytest.mark.soak  # each time: frontend/test/ui/hotspots.test.tsx
def test_the_flame_graph_is_walked_zoomed_and_left_by_keys(page: Page) -> None:
    move(page, f"/runs/{SAMPLED}#flame")
    tree, item, state = page.get_by_role("tree"), page.get_by_role("treeitem"), page.locator(".flame-state")
    expect(tree.locator("canvas")).to_be_visible()
    tree.focus()
    expect(item).to_have_text(re.compile("^All of loading"))
    whole = tree.locator("canvas").evaluate("canvas => canvas.toDataURL()")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(item).to_have_text(re.compile(r"^Photos\.__getitem__ · vit/data\.py:41 · \d+% of loading"))
    expect(state.get_by_role("button", name="All of loading")).to_be_visible()
    page.keyboard.press("Escape")
    expect(state.get_by_role("button")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(tree).not_to_be_focused()
    assert tree.locator("canvas").evaluate("canvas => canvas.toDataURL()") != whole, "the reader's place is framed"
    expect(page).to_have_url(re.compile(f"/runs/{SAMPLED}"))


def test_it_is_accessible_to_everyone_and_no_wider_than_the_screen(page: Page) -> None:
    move(page, f"/runs/{SAMPLED}#hotspots")
    expect(page.locator("#flame canvas")).to_be_visible()
    page.locator("#hotspots").get_by_role("button", name="Self").click()
    page.get_by_role("button", name=re.compile("Find self.im.resize")).click()
    expect(page.locator(".flame-state")).to_contain_text(re.compile(r"Found in 1 place: \d+%"))
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = Axe().run(page, {"include": [[".hotspot-panels"]]})
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.soak  # each time: frontend/test/ui/hotspots.test.tsx
def test_the_stacks_are_saved_for_speedscope(page: Page, tmp_path: Path) -> None:
    move(page, f"/runs/{SAMPLED}#hotspots")
    page.locator("#hotspots").get_by_role("button", name="Export: the stacks").click()
    with page.expect_download() as saved:
        page.get_by_role("link", name=re.compile("speedscope")).click()
    saved.value.save_as(tmp_path / "stacks.json")
    profile = json.loads((tmp_path / "stacks.json").read_text())
    assert "Photos.__getitem__" in {frame["name"] for frame in profile["shared"]["frames"]}


@pytest.mark.soak  # each time: frontend/test/ui/hotspots.test.tsx
def test_what_could_not_be_sampled_and_which_samples_are_slow(page: Page) -> None:
    for run_id, text in (
        ("unet3d-kits-fullres", r"no workers.*underfed run --profile -- "),
        ("gpt2-logging", r"Switched off by UNDERFED_STACKS=0"),
        ("yolo-x-coco-mosaic", r"Slowest samples.*worker \d.*train2017/\d+\.jpg"),
    ):
        move(page, f"/runs/{run_id}")
        expect(page.locator("main")).to_have_text(re.compile(text, re.DOTALL))


def test_what_changed_between_two_runs_is_compared(page: Page) -> None:
    move(page, "/compare?run_id=clip-b32-cc12m-web&run_id=clip-b32-cc12m-tar")
    expect(page.locator("#hotspots tbody tr").first).to_have_text(re.compile(r"read.*getitem.*−\d+ ms"))
