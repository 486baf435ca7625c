"""What happens to a run is on every open page: in many tabs, after a hidden time, after a service that was away."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.app.made_windows import made_stream
from tests.app.operations.asking import scraped, send
from tests.app.serving import Service, poll, start_service

SOON_MS = 60_000
TABS = 7
"""One more than the connections that a browser opens to one host."""


@pytest.fixture
def windows() -> Iterator[dict[str, Any]]:
    """Of ``run-1``: 20 steps each."""
    return made_stream(1_000)


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context(viewport={"width": 1200, "height": 800})
    yield opened
    opened.close()


def post(service: Service, windows: Iterator[dict[str, Any]], count: int) -> None:
    for window in islice(windows, count):
        assert send(service.address, window).status == 200


def expect_steps(page: Page, steps: int) -> None:
    expect(page.get_by_text(re.compile(rf"(step {steps:,}|{steps:,} steps)")).first).to_be_visible(timeout=SOON_MS)


def open_streams(service: Service) -> int:
    return int(scraped(service.address)["underfed_event_streams"][()])


def hide(page: Page, state: str) -> None:
    """As the browser does for a tab that goes behind another: headless ones are always in front."""
    page.evaluate(
        "state => { Object.defineProperty(document, 'visibilityState', {value: state, configurable: true});"
        " document.dispatchEvent(new Event('visibilitychange')) }",
        state,
    )


def expect_streams(service: Service, count: int) -> None:
    end = time.monotonic() + SOON_MS / 1_000
    while open_streams(service) != count:
        assert time.monotonic() < end, f"{open_streams(service)} streams are open, and not {count}"
        time.sleep(0.2)


def test_seven_tabs_at_once_all_hear_what_happens(
    served: Service, windows: Iterator[dict[str, Any]], context: BrowserContext
) -> None:
    post(served, windows, 1)
    pages = [context.new_page() for _ in range(TABS)]
    for page in pages:
        page.goto(served.address)
        expect(page.locator("tbody a.run-name")).to_have_count(1)
    assert 1 <= open_streams(served) < TABS
    pages[0].close()
    post(served, made_stream(1, run_id="run-2"), 1)
    for page in pages[1:]:
        expect(page.locator("tbody a.run-name")).to_have_count(2, timeout=SOON_MS)


def test_a_hidden_tab_holds_no_connection_and_catches_up_when_it_is_seen_and_the_live_dot_blinks_with_events(
    served: Service, windows: Iterator[dict[str, Any]], page: Page
) -> None:
    post(served, windows, 10)
    page.goto(f"{served.address}/runs/run-1")
    expect_steps(page, 200)
    expect_streams(served, 1)
    hide(page, "hidden")
    post(served, windows, 20)
    expect_streams(served, 0)
    expect_steps(page, 200)
    hide(page, "visible")
    expect_steps(page, 600)
    expect_streams(served, 1)
    page.evaluate(
        "window.beats = 0; new MutationObserver(() => { window.beats += 1 })"
        ".observe(document, { subtree: true, attributeFilter: ['data-beat'] })"
    )
    post(served, windows, 1)
    poll(lambda: page.evaluate("window.beats"))
    poll(lambda: page.evaluate("document.getAnimations().length === 0"))


def drawings_of_what_was_there(chart: Locator) -> int:
    """How often the chart was drawn when nothing was left to draw."""
    drawn, before = 0, -1
    while not drawn or drawn != before:
        chart.page.wait_for_timeout(1_500)
        drawn, before = chart.evaluate("canvas => canvas.drawn ?? 0"), drawn
    return drawn


@pytest.mark.soak  # each time: the test above, and frontend/test/charts/surface.test.ts
def test_what_is_off_the_screen_is_drawn_when_scrolled_to_and_the_live_dot_blinks_with_events(
    served: Service, windows: Iterator[dict[str, Any]], context: BrowserContext
) -> None:
    context.add_init_script(
        "const { prototype } = CanvasRenderingContext2D, { reset } = prototype;"
        "prototype.reset = function () { this.canvas.drawn = (this.canvas.drawn ?? 0) + 1; reset.call(this) };"
        "window.beats = 0; const seen = { subtree: true, attributeFilter: ['data-beat'] };"
        "new MutationObserver(() => { window.beats += 1 }).observe(document, seen)"
    )
    post(served, windows, 10)
    page = context.new_page()
    page.set_viewport_size({"width": 1200, "height": 200})
    page.goto(f"{served.address}/runs/run-1")
    chart = page.locator(".time-panels canvas").first
    chart.wait_for()
    drawn, beats = drawings_of_what_was_there(chart), page.evaluate("beats")
    with page.expect_response(re.compile("/series")):
        post(served, windows, 10)
    expect_steps(page, 400)
    page.wait_for_timeout(500)
    assert chart.evaluate("canvas => canvas.drawn") == drawn
    assert page.evaluate("beats") > beats
    assert page.evaluate("document.getAnimations().length") == 0
    chart.scroll_into_view_if_needed()
    poll(lambda: page.evaluate("document.querySelector('.time-panels canvas').drawn") > drawn)


def test_a_service_that_is_away_is_reported_and_nothing_is_missing_when_it_is_back(
    served: Service, windows: Iterator[dict[str, Any]], context: BrowserContext, tmp_path: Path
) -> None:
    post(served, windows, 10)
    page = context.new_page()
    page.goto(f"{served.address}/runs/run-1")
    expect_steps(page, 200)
    other = context.new_page()
    other.goto(served.address)
    expect(other.locator("tbody a.run-name")).to_be_visible()
    served.kill()
    expect(page.get_by_text(re.compile("does not answer|no answer", re.IGNORECASE)).first).to_be_visible(
        timeout=SOON_MS
    )
    expect_steps(page, 200)
    other.get_by_role("link", name="Hosts").click()
    expect(other.get_by_text("could not be loaded")).to_be_visible()
    back = start_service(tmp_path / "underfed.db", port=int(served.address.rpartition(":")[2]))
    try:
        expect(other.get_by_role("heading", name=re.compile("host"))).to_be_visible(timeout=SOON_MS)
        post(back, windows, 15)
        expect_steps(page, 500)
        drawn = page.evaluate(
            "fetch('/api/v1/runs/run-1/series?metric=step_us&buckets=1000').then(answer => answer.json())"
        )
        counts = drawn["series"][0]["count"]
        assert sum(counts) == 500, "every step once"
    finally:
        back.kill()
