"""What an open page of a live run costs: its windows come once a second, as an agent sends them.

Run it as ``python -m benchmarks.live``. The built page, from the real service, in headless Chromium without a GPU, so
that the processor draws. Shares of one core: of the page's own thread, and of all processes of the browser. The same
page without events, and in a hidden tab, are the baselines.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from benchmarks.ingest.made import windows
from benchmarks.ingest.service import serving
from tests.app.operations.asking import send
from tests.fakes.chromium import chromium

RUN = "run-0"
BEFORE = 600
"""Windows that are there already: 20 minutes of training."""
SETTLE_MS = 4_000
HIDE = """
Object.defineProperty(document, 'visibilityState', {value: 'hidden'})
document.dispatchEvent(new Event('visibilitychange'))
"""


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live", description=__doc__)
    parser.add_argument("--seconds", type=int, default=20, help="of each measurement (default: %(default)s)")
    seconds = parser.parse_args(argv).seconds
    made = windows(RUN, 100_000, 4, 0)
    with (
        tempfile.TemporaryDirectory() as directory,
        serving(Path(directory, "underfed.db"), judges=True) as service,
        chromium() as browser,
    ):
        address = f"http://127.0.0.1:{service.port}"
        post(address, made, BEFORE)
        page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
        print(f"{'share of one core':<34}{'its thread':>12}{'the browser':>13}")
        for path, element in ((f"/runs/{RUN}", "main canvas"), ("/", "main tbody tr")):
            page.goto(address + path)
            page.locator(element).first.wait_for()
            page.wait_for_timeout(SETTLE_MS)
            name = "the run" if path != "/" else "the list"
            report(f"{name}, no window", browser, page, seconds, address, iter(()))
            report(f"{name}, a window a second", browser, page, seconds, address, made)
        page.evaluate(HIDE)
        report("a hidden tab, a window a second", browser, page, seconds, address, made)


def post(address: str, made: Iterator[dict[str, Any]], count: int) -> None:
    for window in islice(made, count):
        send(address, window)


def report(name: str, browser: Browser, page: Page, seconds: int, address: str, made: Iterator[dict[str, Any]]) -> None:
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    whole = browser.new_browser_cdp_session()

    def busy_s() -> tuple[float, float]:
        figures = session.send("Performance.getMetrics")["metrics"]
        processes = whole.send("SystemInfo.getProcessInfo")["processInfo"]
        thread = next(each["value"] for each in figures if each["name"] == "TaskDuration")
        return float(thread), sum(float(each["cpuTime"]) for each in processes)

    began, before = time.monotonic(), busy_s()
    for second in range(1, seconds + 1):
        post(address, made, 1)
        page.wait_for_timeout(max(0.0, 1_000 * (began + second - time.monotonic())))
    took_s, after = time.monotonic() - began, busy_s()
    thread, everything = ((end - start) / took_s for start, end in zip(before, after, strict=True))
    print(f"{name:<34}{thread:12.1%}{everything:13.1%}", flush=True)
    session.detach()
    whole.detach()


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
