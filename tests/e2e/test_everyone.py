"""For everyone: by keyboard alone, in both themes, without colours, on a phone, on paper; every page."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.app.serving import Service, poll
from tests.e2e.conftest import REST, move, settle, show

PAGES = ("/runs/vit-b16-in1k-aug2", "/", "/compare", "/hosts", "/team", "/alerts")
ROW = "tbody a.run-name"


def list_runs(page: Page) -> None:
    move(page, "/")
    expect(page.locator(ROW).nth(3)).to_be_visible()


@pytest.mark.parametrize(
    ("scheme", "width"),
    # In light, and as wide as a desktop, each page with figures of its own is looked at by the tests of that page.
    [("dark", 390), pytest.param("light", 1440, marks=pytest.mark.soak)],
)
def test_no_page_is_without_a_name_or_contrast_or_wider_than_its_screen(
    inside: Page, scheme: Literal["dark", "light"], width: int
) -> None:
    page = inside
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    for path in PAGES:
        show(page, path)
        expect(page.locator("main h1, main .empty").first).to_be_visible()
        poll(lambda: page.evaluate("document.getAnimations().length === 0"))
        assert page.locator("html").get_attribute("data-theme") == scheme
        found = Axe().run(page)
        assert found.violations_count == 0, f"{path}\n{found.generate_report()}"
        for wide in (width, 768, 641):
            page.set_viewport_size({"width": wide, "height": 900})
            settle(page)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} at {wide}"
        page.set_viewport_size({"width": width, "height": 900})


def test_the_theme_is_light_dark_or_that_of_the_system_and_kept(gallery: Service, page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(gallery.address)
    theme, button = page.locator("html"), page.locator("button.theme")
    seen = []
    for _ in range(3):
        seen.append((button.inner_text(), theme.get_attribute("data-theme")))
        button.click()
    assert seen == [("System", "dark"), ("Light", "light"), ("Dark", "dark")]
    button.click()
    page.reload()
    expect(theme).to_have_attribute("data-theme", "light")
    button.click()
    button.click()
    page.emulate_media(color_scheme="light")
    expect(theme).to_have_attribute("data-theme", "light")


def focuses(selector: str) -> Callable[[Page], None]:
    return lambda page: expect(page.locator(f"{selector}:focus")).to_have_count(1)


def stands_at(pattern: str) -> Callable[[Page], None]:
    return lambda page: page.wait_for_url(pattern)


def shows(selector: str) -> Callable[[Page], None]:
    return lambda page: expect(page.locator(selector).first).to_be_visible()


def is_dressed(page: Page) -> None:
    assert page.evaluate("localStorage.getItem('underfed-theme')") is not None


def compares(page: Page) -> None:
    page.wait_for_url(re.compile("compare.*run"))


def selects(count: int) -> Callable[[Page], None]:
    return lambda page: expect(page.locator(".selection")).to_contain_text(f"{count} run")


KEYS: dict[str, tuple[str, Callable[[Page], None]]] = {
    "/": ("/", focuses("input[type=search]")),
    "j k": ("j j k", focuses("tr[aria-rowindex='2'] a")),
    "Enter": ("j Enter", stands_at("**/runs/*")),
    "x X": ("j x j j X", selects(3)),
    "c": ("j x j x c", compares),
    "Esc": ("j x Escape", lambda page: expect(page.locator(".selection")).to_have_count(0)),
    "g c": ("g c", stands_at("**/compare*")),
    "g h": ("g h", stands_at("**/hosts*")),
    "g t": ("g t", stands_at("**/team*")),
    "g a": ("g a", stands_at("**/alerts*")),
    "g r": ("g r", shows(ROW)),
    "t": ("t", is_dressed),
    "?": ("?", shows("dialog.keys h2")),
}
"""What to press from the runs on, or from the page before, and what must be so then."""


def copies(page: Page) -> None:
    expect(page.get_by_text("Copied")).to_be_visible()
    assert "num_workers" in page.evaluate("navigator.clipboard.readText()")


RUN_KEYS: dict[str, tuple[str, Callable[[Page], None]]] = {
    "d": ("d", copies),
    "1 9": ("1", lambda page: expect(page.locator("[data-fix='1']")).not_to_have_attribute("open", "")),
    "+ - 0": ("+", stands_at("**/runs/*?*")),
    "[ ]": ("0 + [", stands_at("**/runs/*?*")),
    "Esc": ("Escape", shows(ROW)),
}
"""The same of a run's own page."""

FOCUSED = {"← →", "w s a d f", ", .", "↑ ↓ Enter"}
"""Of a chart, the timeline or the flame graph that has the focus: tests/e2e/test_run_page.py, test_hotspots.py."""


def press(page: Page, presses: str) -> None:
    for key in presses.split():
        page.keyboard.press(key)
        settle(page)  # a row takes the focus two frames later


def test_the_list_has_these_keys_and_no_other_and_each_does_what_it_says_until_they_are_switched_off(
    gallery: Service, page: Page
) -> None:
    """Each from a list in which nothing is chosen and nothing has the focus, or from the page before."""
    page.goto(gallery.address)
    for presses, is_so in KEYS.values():
        if not presses.startswith("g "):
            list_anew(page)
        press(page, presses)
        is_so(page)
        if presses.endswith(("X", "c")) and "x" in presses:
            choose_none(page)
    listed = {" ".join(entry.locator("kbd").all_inner_texts()) for entry in page.locator(".keys dt").all()}
    assert listed == KEYS.keys() | RUN_KEYS.keys() | FOCUSED
    page.get_by_label("Single-key shortcuts are on").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator(f"{ROW}:focus")).to_have_count(0)
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to content")).to_be_focused()


def list_anew(page: Page) -> None:
    press(page, "Escape Escape")
    page.locator("body").evaluate("() => document.activeElement?.blur()")
    move(page, REST)
    expect(page.locator(ROW)).to_have_count(0)
    list_runs(page)


def choose_none(page: Page) -> None:
    """Runs stay chosen wherever one goes on the page."""
    list_runs(page)
    press(page, "Escape")
    expect(page.locator(".selection")).to_have_count(0)


def test_each_key_of_a_run_does_what_the_list_says(inside: Page) -> None:
    """In turn, on one page: what one of them does leaves the others to be done."""
    page = inside
    move(page, "/runs/vit-b16-in1k-aug2")
    expect(page.locator("[data-fix='1']")).to_be_visible()
    expect(page.locator(".time-panels canvas").first).to_be_visible()
    for presses, is_so in RUN_KEYS.values():
        press(page, presses)
        is_so(page)


def test_verdicts_are_distinguished_without_their_colour(inside: Page) -> None:
    """Each tone has a word and a shape of its own; the loud one also stands out by its weight."""
    list_runs(inside)
    verdicts = inside.locator(".verdict-word").evaluate_all(
        "all => all.map(one => [one.className.split(' ').at(-1), one.querySelector('svg').innerHTML"
        '.replaceAll(/(fill|stroke)="[^"]*"/g, \'\'), one.firstElementChild.nextSibling.textContent,'
        " getComputedStyle(one).fontWeight])"
    )
    by_tone = {tone: {(shape, weight) for each, shape, _, weight in verdicts if each == tone} for tone, *_ in verdicts}
    assert {"loud", "fine"} <= by_tone.keys()
    shapes = [shape for looks in by_tone.values() for shape, _ in looks]
    assert len(shapes) == len(set(shapes))
    assert {weight for _, weight in by_tone["loud"]} == {"550"}
    assert all(word.strip() for _, _, word, _ in verdicts)


def test_on_paper_the_runs_are_a_table_in_ink(inside: Page) -> None:
    page = inside
    list_runs(page)
    page.emulate_media(media="print")
    for gone in (".top", ".filters", "td.tick"):
        expect(page.locator(gone).first).to_be_hidden()
    expect(page.locator(ROW).first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 800, "height": 300})
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    count = int(page.locator("table").first.get_attribute("aria-rowcount") or 0) - 1
    expect(page.locator(ROW)).to_have_count(count)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
