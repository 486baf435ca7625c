"""What the page weighs and how soon it paints: the built page, from the real service, in headless Chromium.

Run it as ``python -m benchmarks.page``. Each visit has an empty cache. First paint is the browser's own
``first-contentful-paint``, "complete" the moment at which the runs or the verdict are shown. A text file of the same
service in the same browser is the baseline.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from playwright.sync_api import Browser

import underfed_server
from benchmarks.ingest.made import requests
from benchmarks.ingest.posts import post_all
from benchmarks.ingest.service import serving
from tests.fakes.chromium import chromium

STATIC = Path(underfed_server.__file__).with_name("static")
RUNS, WINDOWS = 20, 100
KINDS = {"scripts": ".js", "styles": ".css", "fonts": ".woff2"}
PAGES = {
    "a text of the service": ("/ibm-plex-licence.txt", "pre"),
    f"{RUNS} runs": ("/", "main tbody tr"),
    "one run": ("/runs/run-0", "main h1"),
    "two runs compared": ("/compare?run_id=run-0&run_id=run-1", "main h1"),
    "hosts": ("/hosts", "main h1, main h2"),
    "the team": ("/team", "main h1"),
}
"""Paths, and the element that is there when the page is complete."""


@dataclass(frozen=True, slots=True)
class Visit:
    """Milliseconds since navigation began, and bytes as they came over the wire."""

    paint_ms: float
    complete_ms: float
    wire_bytes: float


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__)
    parser.add_argument("--visits", type=int, default=11, help="to each page (default: %(default)s)")
    visits = parser.parse_args(argv).visits
    print_weight()
    with tempfile.TemporaryDirectory() as directory, serving(Path(directory, "underfed.db"), judges=True) as service:
        streams = [requests(f"run-{index}", WINDOWS, 2, index) for index in range(RUNS)]
        asyncio.run(post_all(service.port, streams))
        time.sleep(RUNS * 0.5)  # each is judged
        print(f"\n{'with an empty cache':<24}{'first paint ms':>16}{'complete ms':>13}{'ratio':>8}{'wire kB':>10}")
        with chromium() as browser:
            bare_ms = 0.0
            for name, (path, element) in PAGES.items():
                seen = middle(
                    [visit(browser, f"http://127.0.0.1:{service.port}{path}", element) for _ in range(visits)]
                )
                bare_ms = bare_ms or seen.complete_ms
                print(
                    f"{name:<24}{seen.paint_ms:16.0f}{seen.complete_ms:13.0f}{seen.complete_ms / bare_ms:8.1f}"
                    f"{seen.wire_bytes / 1000:10.1f}",
                    flush=True,
                )


def print_weight() -> None:
    """For all files by kind, and for those that every page loads: ``index.html`` names them."""
    if not (STATIC / "index.html").is_file():
        sys.exit("the page was not built: pip install . builds it")
    print(f"{'as built':<24}{'files':>8}{'kB':>9}{'gzip kB':>10}")
    for kind, suffix in KINDS.items():
        print_row(kind, sorted(STATIC.rglob(f"*{suffix}")))
    named = re.findall(r"assets/[^\"]+\.(?:js|css)", (STATIC / "index.html").read_text())
    print_row("first load", [STATIC / name for name in named])


def print_row(name: str, paths: Sequence[Path]) -> None:
    files = [path.read_bytes() for path in paths]
    packed = sum(len(gzip.compress(file, 9)) for file in files)
    print(f"{name:<24}{len(files):>8}{sum(map(len, files)) / 1000:9.1f}{packed / 1000:10.1f}")


def visit(browser: Browser, address: str, element: str) -> Visit:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    network = context.new_cdp_session(page)
    network.send("Network.enable")
    arrived: list[float] = []
    network.on("Network.loadingFinished", lambda event: arrived.append(event["encodedDataLength"]))
    page.goto(address, wait_until="commit")
    page.locator(element).first.wait_for()
    complete_ms = float(page.evaluate("performance.now()"))
    page.wait_for_timeout(300)
    paint_ms = float(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
    context.close()
    return Visit(paint_ms, complete_ms, sum(arrived))


def middle(visits: Sequence[Visit]) -> Visit:
    """The median of each figure."""
    names = [field.name for field in fields(Visit)]
    return Visit(*(statistics.median(getattr(each, name) for each in visits) for name in names))


if __name__ == "__main__":
    main(sys.argv[1:])
