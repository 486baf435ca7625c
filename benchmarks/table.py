"""What the table of 5,000 runs costs in the browser: rendering, sorting, typing, selecting, and runs that change.

Run it as ``python -m benchmarks.table``. The built page, from the real service, in headless Chromium. A time goes from
the input to the frame that shows its effect; "found" and "sorted" include the service's answer and the pause after
typing (200 ms). Live: runs change as often as twenty that report once a second; the share of one core is the page's
own thread."""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

from playwright.sync_api import Page

from benchmarks.ingest.service import serving
from benchmarks.runs import RUNNING, build_runs
from tests.fakes.chromium import chromium
from underfed_server.store.store import Store

LIVE_S = 10.0
ROW = "tbody a.run-name"
UNTIL_SHOWN = """
([selector, kind, done]) => new Promise(resolve => {
  const element = document.querySelector(selector), isDone = () => !done || document.querySelector(done)
  const shown = () => requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)))
  const look = () => isDone() ? shown() : requestAnimationFrame(look)
  const began = performance.now()
  if (kind === 'click') element.click()
  else {
    element.value = kind
    element.dispatchEvent(new Event('input', {bubbles: true}))
  }
  look()
})
"""


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.table", description=__doc__)
    parser.add_argument("--runs", type=int, default=5_000, help="in the store (default: %(default)s)")
    parser.add_argument("--times", type=int, default=9, help="each is done (default: %(default)s)")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as directory:
        database = Path(directory, "underfed.db")
        store = Store(f"sqlite:///{database}")
        build_runs(store, arguments.runs)
        store.close()
        with serving(database, judges=False) as service, chromium() as browser:
            address = f"http://127.0.0.1:{service.port}"
            page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
            page.goto(address)
            print(f"{'of ' + format(arguments.runs, ',') + ' runs':<34}{'median ms':>11}{'worst ms':>10}")
            measure(page, arguments.times)
            print(f"{'live, share of one core':<34}{live_share(page, address):11.1%}")


def measure(page: Page, times: int) -> None:
    page.locator(ROW).first.wait_for()
    everything(page)
    box = "input[type=search]"
    print_row(page, "a letter, to its frame", times, lambda index: (box, f"resnet{index}", ""))
    clear(page)
    print_row(
        page, "a search, found", times, lambda index: (box, f"id:run-0012{index}", first(f"='/runs/run-0012{index}'"))
    )
    clear(page)
    everything(page)
    print_row(page, "sorted", times, lambda index: (head(index), "click", another_first(page)))
    everything(page)
    print_row(
        page, "one run chosen", times, lambda index: (f"tbody tr:nth-child({index + 2}) input", "click", ".selection")
    )
    print_row(page, "all chosen", 1, lambda _: ("thead input", "click", ".selection"))
    print_row(page, "none chosen", 1, lambda _: (".selection .plain", "click", ""))
    print_row(page, "back from another page", times, lambda _: back(page))


def print_row(page: Page, name: str, times: int, step: Callable[[int], tuple[str, str, str]]) -> None:
    took = [page.evaluate(UNTIL_SHOWN, list(step(index))) for index in range(times)]
    print(f"{name:<34}{statistics.median(took):11.0f}{max(took):10.0f}", flush=True)


def everything(page: Page) -> None:
    """Load also what scrolling would load: the page then holds all runs."""
    page.locator("thead input").check()
    every = page.get_by_role("button", name="Select all")
    if every.count():
        every.click()
        every.wait_for(state="detached")
    page.keyboard.press("Escape")
    page.wait_for_timeout(500)


def clear(page: Page) -> None:
    page.locator("input[type=search]").fill("")
    page.wait_for_timeout(600)


def head(index: int) -> str:
    """By name and by wait in turn."""
    return f"thead th:nth-child({(2, 5)[index % 2]}) button"


def first(href: str) -> str:
    return f"tbody tr[aria-rowindex='2'] a.run-name[href{href}]"


def another_first(page: Page) -> str:
    """A condition: another run is at the top than now."""
    now = page.locator(first("")).get_attribute("href")
    return f"tbody tr[aria-rowindex='2'] a.run-name:not([href='{now}'])"


def back(page: Page) -> tuple[str, str, str]:
    page.get_by_role("link", name="Team", exact=True).click()
    page.locator(ROW).first.wait_for(state="detached")
    return "nav a", "click", ROW


def live_share(page: Page, address: str) -> float:
    everything(page)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def busy_s() -> float:
        figures = session.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in figures if each["name"] == "TaskDuration"))

    began, before = time.monotonic(), busy_s()
    while time.monotonic() - began < LIVE_S:
        second = time.monotonic()
        for index in range(RUNNING):
            touch(f"{address}/api/v1/runs/run-{index:05d}", f"{second}")
        page.wait_for_timeout(max(0.0, 1_000 * (second + 1 - time.monotonic())))
    return (busy_s() - before) / (time.monotonic() - began)


def touch(address: str, notes: str) -> None:
    """Change a run: open pages get an event for it, as for a window."""
    body = json.dumps({"notes": notes}).encode()
    headers = {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(address, body, headers, method="PATCH")) as answer:
        answer.read()


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
