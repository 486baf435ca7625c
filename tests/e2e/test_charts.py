"""A picture of each kind of chart shows what its figures say: colours are counted where the figures put them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.app.operations.asking import ask
from tests.app.serving import Service
from tests.e2e.conftest import Contexts, quiet_page
from underfed_server.model import Anatomy, Timeline
from underfed_server.terminal.client import Client

RUN = "vit-b16-in1k-aug2"
"""From its sixth epoch on a worker takes twice as long, and the device waits."""
STACK, READY, BUSY, HEAT = "Stacked step time", "Batches ready", "GPU busy", "Heat map"
"""How what is said of a chart begins."""
Picture = NDArray[np.int64]
Mask = NDArray[np.bool_]

COPY, COMPUTE, INK = (138, 112, 189), (180, 203, 220), (22, 25, 31)
PLOT = (54, 84)
"""What charts of a page leave free on both sides of what they draw."""


@pytest.fixture(scope="module")
def shown(contexts: Contexts, gallery: Service) -> Iterator[Page]:
    for page in quiet_page(contexts(1440, 1000)):
        page.goto(f"{gallery.address}/runs/{RUN}")
        for name in (STACK, READY, BUSY, HEAT):
            expect(chart_of(page, name)).to_be_visible()
        expect(page.get_by_role("heading", name=re.compile("The last"))).to_be_visible()
        page.evaluate("document.fonts.ready.then(() => true)")
        # A run that has stopped is drawn pale: here its colours are what is looked at.
        page.evaluate("document.querySelectorAll('.stale *').forEach(each => { each.style.filter = 'none' })")
        yield page


def chart_of(page: Page, name: str) -> Locator:
    return page.locator(".time-panels").get_by_role("img", name=re.compile(f"^{name}"))


def picture(chart: Locator) -> Picture:
    return np.asarray(Image.open(io.BytesIO(chart.screenshot())).convert("RGB")).astype(np.int64)


def near(seen: Picture, colour: tuple[int, int, int], within: int = 40) -> Mask:
    return np.asarray(np.abs(seen - np.array(colour)).max(axis=2) <= within)


def loud(seen: Picture) -> Mask:
    """Waiting is the only red there is, hatched or not."""
    return np.asarray((seen[..., 0] - seen[..., 2] > 70) & (seen[..., 0] > 140))


def plot_of(seen: Picture) -> Picture:
    left, right = PLOT
    return seen[:, left : seen.shape[1] - right]


def part(seen: Picture, start: float, end: float) -> Picture:
    """Of the plot's width, from one share to another."""
    plot = plot_of(seen)
    return plot[:, int(start * plot.shape[1]) : int(end * plot.shape[1])]


def middle_row(mask: Mask) -> float:
    """Where the marked pixels lie, in rows from the top."""
    return float(np.median(np.nonzero(mask)[0]))


def test_a_stack_is_as_high_as_its_parts_are_long(shown: Page) -> None:
    seen = picture(chart_of(shown, STACK))
    for start, end, low, high in ((0.05, 0.2, 0.0, 0.08), (0.6, 0.95, 0.36, 0.50)):
        stretch = part(seen, start, end)
        waits, works = loud(stretch).sum(), near(stretch, COMPUTE).sum()
        assert low <= waits / (waits + works) <= high
    late = part(seen, 0.6, 0.95)
    assert middle_row(loud(late)) < middle_row(near(late, COPY)) < middle_row(near(late, COMPUTE))


def test_a_line_goes_where_its_values_go(shown: Page) -> None:
    seen = picture(chart_of(shown, READY))
    early, late = (middle_row(near(part(seen, *where), INK, 60)) for where in ((0.02, 0.2), (0.5, 0.95)))
    assert early < late, "fewer batches are ready: the line lies lower"


def test_a_second_line_is_distinguished_without_its_colour(shown: Page) -> None:
    late = part(picture(chart_of(shown, BUSY)), 0.4, 0.95)
    drawn = loud(late).any(axis=0).mean()
    assert 0.4 <= drawn <= 0.85, "it is dashed"


def test_a_heat_map_darkens_where_the_batches_are_and_has_its_limit(shown: Page) -> None:
    seen = picture(chart_of(shown, HEAT))
    dark = seen.sum(axis=2) < 400
    left, right = PLOT
    plot = dark[:, left : dark.shape[1] - right]
    width = plot.shape[1]
    early, late = middle_row(plot[:, : width // 5]), middle_row(plot[:, width // 2 :])
    assert late < early, "slower batches lie higher"
    limit = loud(plot_of(seen))
    row = int(np.argmax(limit.sum(axis=1)))
    assert limit[row].mean() > 0.4, "a dashed line over the whole width"
    assert late < row < early, "what is above the limit keeps the device waiting"


def test_a_timeline_is_as_red_as_the_loop_waited(shown: Page, gallery: Service) -> None:
    panel = shown.locator("section", has=shown.get_by_role("heading", name=re.compile("The last")))
    seen = picture(panel.locator("canvas").first)
    timeline = Timeline.model_validate(ask(gallery.address, f"/api/v1/runs/{RUN}/timeline").json)
    waited = sum(step.data_wait_us for step in timeline.steps)
    whole = sum(step.step_us or 0 for step in timeline.steps)
    row = int(np.argmax(loud(seen).sum(axis=1)))
    bar = seen[row - 2 : row + 3]
    share = loud(bar).sum() / (loud(bar).sum() + near(bar, COMPUTE).sum())
    assert share == pytest.approx(waited / whole, abs=0.08)


def test_bars_of_a_step_are_drawn_to_one_scale(shown: Page, gallery: Service) -> None:
    anatomy = Client(gallery.address).diagnosis(RUN).anatomy
    assert isinstance(anatomy, Anatomy)
    widths = {kind: shown.locator(f".anatomy .{kind}").first.bounding_box() for kind in ("wait", "copy", "compute")}
    wait, copy, compute = widths["wait"], widths["copy"], widths["compute"]
    assert wait and copy and compute
    assert wait["width"] / compute["width"] == pytest.approx(anatomy.data_wait_us / anatomy.compute_us, rel=0.05)
    predicted = shown.locator(".anatomy .compute").nth(1).bounding_box()
    # What is predicted does not distinguish copies.
    assert predicted and predicted["width"] == pytest.approx(compute["width"] + copy["width"], rel=0.1)


def test_a_small_line_in_the_table_rises_with_the_wait(contexts: Contexts, gallery: Service) -> None:
    for page in quiet_page(contexts(1440, 1000)):
        page.goto(gallery.address)
        row = page.locator("tbody tr", has=page.locator(f'a[href="/runs/{RUN}"]')).first
        seen = picture(row.locator("svg.spark"))
        columns = [np.nonzero(near(seen[:, x : x + 4], INK, 110) | loud(seen[:, x : x + 4]))[0] for x in (6, 70)]
        early, late = (float(rows.min()) for rows in columns)
        assert late < early - 2
