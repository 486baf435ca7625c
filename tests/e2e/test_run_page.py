"""The page of a run in a real browser: every state, its address, exports, the keyboard."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, Route, expect

from tests.app.serving import Service
from tests.e2e.conftest import as_owner, move, settle

SILENT_MS = 60_000
STARVED, STRAGGLING = "vit-b16-in1k-aug2", "detr-coco-ddp"


@pytest.fixture
def page(inside: Page) -> Page:
    return inside


def open_run(page: Page, service: Service, run_id: str, search: str = "") -> None:
    """Within the page, where it is one of the service already."""
    if page.url.startswith(service.address):
        move(page, f"/runs/{run_id}{search}")
    else:
        page.goto(f"{service.address}/runs/{run_id}{search}")
    expect(page.locator(".run-head h1")).to_be_visible()


def panel(page: Page, name: str) -> Locator:
    return page.locator(f"#{name}")


SAID = {
    "convnext-t-inat": r"A verdict needs .*14 of 25 steps",
    "eval-only": r"No loader was seen in this run.*underfed\.watch",
    "dinov2-s-places": r"Workers 1, 3 of train; 1, 3 of train on rank 1 died.*800 steps.*CUDA out of memory",
    "swin-t-in21k-warm": r"No data from gpu-10 for .*as of \d\d:\d\d:\d\d",
    "mae-vit-l-copy": r"Transfer-bound.*wait for copies.*pin_memory=True",
}
SAID_TOO = {
    "gpt2-logging": r"Host-bound.*idle .* although data is ready",
    "ast-audioset-w8": r"Set for this run:.*applies the advice of.*What the advice gained",
    "resnet50-in1k-base": r"Nothing about the loader needs to change.*None needed",
}
"""What of these the page says itself is looked at in frontend/test/ui/run.test.tsx and parts.test.tsx each time."""


@pytest.mark.parametrize("states", [SAID, pytest.param(SAID_TOO, marks=pytest.mark.soak)])
def test_each_state_is_said_in_its_own_words(page: Page, gallery: Service, states: Mapping[str, str]) -> None:
    for run_id, text in states.items():
        open_run(page, gallery, run_id)
        # A run is without a signal only once it has been silent for a while.
        expect(page.locator("main"), run_id).to_have_text(re.compile(text, re.DOTALL), timeout=SILENT_MS)
        assert (page.locator("[data-fix]").count() == 0) or run_id != "resnet50-in1k-base", "no change is suggested"


def test_what_is_chosen_stands_in_the_address_and_is_there_again_after_a_reload_and_after_back(
    page: Page, gallery: Service
) -> None:
    open_run(page, gallery, STARVED)
    expect(page.get_by_role("img", name=re.compile("Stacked step time"))).to_be_visible()
    panel(page, "workers").locator("summary").click()
    page.get_by_role("button", name="As table: Worker by worker").click()
    expect(page).to_have_url(re.compile("table=workers"))
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile(r"from_step=\d+&to_step=\d+"))
    page.get_by_role("button", name="p50 – p99").click()
    expect(page.get_by_role("img", name=re.compile("Spread of step time"))).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Zoomed")).to_have_attribute("aria-pressed", "true")
    expect(panel(page, "workers").get_by_role("columnheader", name="Median")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Spread of step time"))).to_be_visible()
    page.go_back()
    expect(page.get_by_role("img", name=re.compile("Stacked step time"))).to_be_visible()
    page.keyboard.press("0")
    expect(page).not_to_have_url(re.compile("from_step"))


def test_a_drag_over_a_chart_reads_that_stretch_at_full_resolution(page: Page, gallery: Service) -> None:
    open_run(page, gallery, STARVED)
    chart = page.get_by_role("img", name=re.compile("Stacked step time"))
    box = chart.bounding_box()
    assert box is not None
    with page.expect_request(re.compile(r"/series\?.*from_step=")):
        page.mouse.move(box["x"] + 200, box["y"] + 100)
        page.mouse.down()
        page.mouse.move(box["x"] + 260, box["y"] + 100, steps=4)
        page.mouse.up()
    page.mouse.move(5, 5)
    expect(panel(page, "steps").get_by_text(re.compile("every step|mean of [1-4] steps per point"))).to_be_visible()


def test_a_panel_is_exported_as_link_figures_and_picture(page: Page, gallery: Service, tmp_path: Path) -> None:
    open_run(page, gallery, STARVED, "?rank=1")
    more = panel(page, "steps").get_by_role("button", name=re.compile("^Export: "))
    more.focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("The link is in the clipboard")).to_be_visible()
    link = page.evaluate("() => navigator.clipboard.readText()")
    assert link.endswith(f"/runs/{STARVED}?rank=1#steps")
    more.click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as CSV").click()
    saved.value.save_as(tmp_path / "steps.csv")
    head, first, *_ = (tmp_path / "steps.csv").read_text().splitlines()
    assert head.startswith("at_s,first_step,data_wait_us")
    assert len(first.split(",")) == len(head.split(","))
    more.click()
    page.get_by_role("button", name="Copy as image").click()
    expect(page.get_by_text("The image is in the clipboard")).to_be_visible()
    kinds = page.evaluate("async () => (await navigator.clipboard.read())[0].types")
    assert kinds == ["image/png"]


def test_the_charts_are_the_stragglers_own_and_any_other_rank_is_one_press_away(page: Page, gallery: Service) -> None:
    open_run(page, gallery, STRAGGLING)
    expect(page.get_by_role("radio", name=re.compile("rank 5, straggler"))).to_be_checked()
    expect(page.get_by_text("waits for the straggler")).to_have_count(0)
    page.get_by_role("radio", name=re.compile("rank 3")).check(force=True)
    expect(page).to_have_url(re.compile("rank=3"))
    expect(page.get_by_text("waits for the straggler").first).to_be_visible()


def test_the_timeline_is_walked_through_and_measured(page: Page, gallery: Service) -> None:
    open_run(page, gallery, STARVED)
    lanes = page.get_by_role("group", name=re.compile("Timeline of 4 workers"))
    lanes.focus()
    page.keyboard.press(".")
    expect(panel(page, "timeline").get_by_text(re.compile(r"batch \d+, worker \d"))).to_be_visible()
    # What is dragged over has come to rest: panels above it may have been drawn since it was focused.
    expect(page.locator(".footnote")).to_be_visible()
    lanes.scroll_into_view_if_needed()
    settle(page)
    lanes.hover(position={"x": 300, "y": 20})
    page.mouse.down()
    lanes.hover(position={"x": 700, "y": 20})
    page.mouse.up()
    expect(panel(page, "timeline").get_by_text(re.compile(r"In this stretch of .* the GPU waits .*%"))).to_be_visible()


def test_keys_pressed_before_an_answer_go_on_from_each_other(page: Page, gallery: Service) -> None:
    open_run(page, gallery, STARVED)
    expect(page.locator(".time-panels canvas").first).to_be_visible()
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        waiting.append(route)

    page.route("**/series?*", hold)
    spans = []
    for key in ("+", "+", "-"):
        before = page.url
        page.keyboard.press(key)
        expect(page).not_to_have_url(before)
        expect(page).to_have_url(re.compile(r"from_step=\d+&to_step=\d+"))
        query = parse_qs(urlsplit(page.url).query)
        spans.append(int(query["to_step"][0]) - int(query["from_step"][0]))
    for route in waiting:
        route.continue_()
    assert spans[1] == pytest.approx(spans[0] / 2, abs=1)
    assert spans[2] == pytest.approx(spans[0], abs=2)


def test_the_timeline_is_zoomed_and_moved_by_its_keys(page: Page, gallery: Service) -> None:
    open_run(page, gallery, STARVED)
    drawn = panel(page, "timeline").locator("canvas").first
    expect(drawn).to_be_visible()
    page.evaluate("document.fonts.ready.then(() => true)")

    def picture_after(key: str) -> str:
        panel(page, "timeline").locator("[tabindex='0']").first.press(key)
        settle(page)
        return str(drawn.evaluate("canvas => canvas.toDataURL()"))

    whole = picture_after("f")
    near = picture_after("w")
    earlier = picture_after("a")
    assert len({whole, near, earlier}) == 3
    assert picture_after("d") == near
    assert picture_after("s") != near
    assert picture_after("f") == whole


def test_arrows_move_along_the_charts(page: Page, gallery: Service) -> None:
    open_run(page, gallery, STARVED)
    slider, readout = page.locator(".time-panels [role=slider]"), page.locator(".time-panels .readout")
    slider.press("ArrowLeft")
    expect(readout).to_have_text(re.compile(r"step [\d,]+ · data wait"))
    first = readout.inner_text()
    slider.press("ArrowLeft")
    expect(readout).not_to_have_text(first)
    slider.press("ArrowRight")
    expect(readout).to_have_text(first)


def test_a_drag_over_the_host_is_one_over_the_run(page: Page, gallery: Service) -> None:
    open_run(page, gallery, STARVED)
    page.locator(".run-hosts > summary").click()
    chart = page.locator(".host-panels canvas").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box
    page.mouse.move(box["x"] + 200, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 40, steps=4)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"from_step=\d+&to_step=\d+"))


def test_name_tags_and_notes_are_edited_on_the_page(page: Page, gallery: Service) -> None:
    as_owner(page, gallery.address, gallery.owner_token)
    page.goto(f"{gallery.address}/runs/gpt2-logging")
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Name").fill("gpt2, with its log")
    page.get_by_role("textbox", name="Notes").fill("Logs each step.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("h1")).to_have_text("gpt2, with its log")
    expect(page.get_by_text("Logs each step.")).to_be_visible()
    expect(page.locator(".tag")).to_have_text("text")


def test_every_step_is_exported_from_the_menu(page: Page, gallery: Service) -> None:
    open_run(page, gallery, "segformer-b2-short")
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as saved:
        page.get_by_role("link", name=re.compile("Trace")).click()
    assert saved.value.suggested_filename == "segformer-b2-short.trace.json"


@pytest.mark.parametrize(
    ("run_id", "scheme"), [pytest.param(STARVED, "light", marks=pytest.mark.soak), ("dinov2-s-places", "dark")]
)
def test_axe_finds_nothing(page: Page, gallery: Service, run_id: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    open_run(page, gallery, run_id)
    expect(panel(page, "timeline")).to_be_visible()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_a_phone_shows_it_all_without_scrolling_sideways(phone: Page, gallery: Service) -> None:
    open_run(phone, gallery, "recorded-checkpoints")
    expect(panel(phone, "timeline")).to_be_visible()
    content = "document.querySelector('main').scrollWidth"
    assert phone.evaluate(content) <= phone.evaluate("document.querySelector('main').clientWidth")


def test_paper_is_light_and_without_controls_also_when_the_screen_is_dark(page: Page, gallery: Service) -> None:
    page.emulate_media(color_scheme="dark")
    open_run(page, gallery, STARVED)
    expect(panel(page, "timeline")).to_be_visible()
    page.emulate_media(media="print", color_scheme="dark")
    paper = "getComputedStyle(document.documentElement).getPropertyValue('--paper')"
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    expect(page.get_by_role("button", name="Export", exact=True)).to_be_hidden()
    expect(page.get_by_role("button", name=re.compile("As table: Where"))).to_be_hidden()


def test_a_stretch_has_a_heat_map_of_its_own(page: Page, gallery: Service) -> None:
    open_run(page, gallery, STARVED)
    with page.expect_response(re.compile(r"/workers\?.*from_step=\d+")) as answered:
        page.get_by_role("button", name="15 min").click()
    zoomed = answered.value.json()["heatmap"]
    page.get_by_role("button", name="Whole run").click()
    whole = page.request.get(f"{gallery.address}/api/v1/runs/vit-b16-in1k-aug2/workers").json()["heatmap"]
    assert zoomed["at_us"][0] > whole["at_us"][0]
    assert zoomed["end_us"] - zoomed["at_us"][-1] < whole["end_us"] - whole["at_us"][-1], "its columns are narrower"


def test_what_is_looked_up_stands_beside_the_charts_where_no_fix_is_advised(page: Page, gallery: Service) -> None:
    def edges(run_id: str) -> tuple[float, float]:
        open_run(page, gallery, run_id)
        charts, looked_up = page.locator(".seen > :first-child"), page.locator(".looked-up")
        expect(looked_up.locator("summary").first).to_be_visible()
        beside, below = looked_up.bounding_box(), charts.bounding_box()
        assert beside is not None and below is not None
        return beside["x"], below["x"] + below["width"]

    left, charts_end = edges("recorded-shell-loop")
    assert left > charts_end
    left, charts_end = edges("recorded-short-run")
    assert left < charts_end


def test_the_buttons_of_what_is_unfolded_cover_no_words(page: Page, gallery: Service) -> None:
    """Its title is as long as the room beside the charts allows, and the line has buttons only then."""
    open_run(page, gallery, STARVED)
    workers = page.locator("#workers")
    workers.locator("summary").click()
    words, buttons = workers.locator("summary .detail"), workers.locator(".folded-controls")
    expect(buttons).to_be_visible()
    ends = words.evaluate("words => Math.max(...[...words.getClientRects()].map(line => line.right))")
    begins = buttons.bounding_box()
    assert begins is not None and ends <= begins["x"]
