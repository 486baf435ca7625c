"""Makes README's pictures of the page that is built: ``python -m tests.fakes.gallery.pictures``, in a few minutes."""

from __future__ import annotations

import io
import tempfile
import threading
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

from tests.app.serving import start_service
from tests.fakes.chromium import chromium
from tests.fakes.gallery.filling import fill, keep_alive

DOCS = Path(__file__).parents[3] / "docs"
RUN = "vit-b16-in1k-aug2"
WIDTH_PX = 1440
LIST_PX = 1250
"""At most: the list ends with a whole row."""
COLOURS = 256
ALIVE_S = 90.0
"""How long the runs that have not ended go on: longer than the pictures take."""
DRAWN_MS = 4_000
"""Until two heartbeats have come and what they change is drawn."""


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        service = start_service(Path(directory, "underfed.db"))
        try:
            live = fill(service.address)
            beats = threading.Thread(target=keep_alive, args=(service.address, live, ALIVE_S))
            beats.start()
            take(service.address, service.owner_token)
            beats.join()
        finally:
            service.kill()


def take(address: str, token: str) -> None:
    with chromium() as browser:
        page = browser.new_page(viewport={"width": WIDTH_PX, "height": LIST_PX}, color_scheme="light")
        page.request.post(f"{address}/api/v1/session", data={"token": token})
        page.goto(f"{address}/runs/{RUN}")
        page.locator("#timeline canvas").first.wait_for()
        page.wait_for_timeout(DRAWN_MS)
        page.set_viewport_size({"width": WIDTH_PX, "height": whole_px(page)})
        save(page, "run.png")
        page.set_viewport_size({"width": WIDTH_PX, "height": LIST_PX})
        page.goto(address)
        page.locator("main tbody tr").first.wait_for()
        page.wait_for_timeout(DRAWN_MS)
        page.set_viewport_size({"width": WIDTH_PX, "height": whole_rows_px(page)})
        save(page, "runs.png")


def whole_px(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollHeight")) + 2


def whole_rows_px(page: Page) -> int:
    ends = page.locator("main tbody tr").evaluate_all("all => all.map(each => each.getBoundingClientRect().bottom)")
    return int(max(end for end in ends if end <= LIST_PX))


def save(page: Page, name: str) -> None:
    page.wait_for_timeout(DRAWN_MS)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    # A page has few colours: a palette of them takes a third.
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(DOCS / name, optimize=True)


if __name__ == "__main__":
    main()
