"""Runs are picked, compared and read in a real browser: the sentence, the picture, the keys, other widths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.app.made_windows import RUN, made_stream
from tests.app.serving import application_in, serving, settings_for
from tests.app.store.posting import post
from tests.e2e.conftest import move, show
from underfed_server.diagnose import Diagnoser

NAMES = ("slow", "quick", "other")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with three runs that ended: one waits, one hardly does, and one has another batch size."""
    directory: Path = tmp_path_factory.mktemp("compare")
    application = application_in(directory)
    for minute, (name, workers, batch) in enumerate(zip(NAMES, (1, 8, 4), (32, 32, 64), strict=True)):
        settings = {"num_workers": workers, "prefetch_factor": 2, "batch_size": batch}
        windows = list(made_stream(20, run_id=name, seed=minute, started_at=f"2026-11-20T10:0{minute}:00Z"))
        windows[0] |= {"run": RUN | {"name": name}, "loaders": [{"loader": "train", "settings": settings}]}
        windows[-1] |= {"end": {"status": "finished"}}
        if name == "quick":
            windows = [hurried(window) for window in windows]
        post(application.parts.store, windows)
        Diagnoser()(application.parts.store, name)
    with serving(application, settings_for(directory)) as served:
        yield served


@pytest.fixture(scope="module")
def home(address: str) -> str:
    return address


@pytest.fixture
def page(inside: Page) -> Page:
    return inside


def hurried(window: dict[str, object]) -> dict[str, object]:
    """Without its waits."""
    steps = dict(window["steps"][0])  # type: ignore[index]  # a window of the made stream has one block of steps
    waits = [wait - wait // 10 for wait in steps["data_wait_us"]]
    steps["step_us"] = [step - gone for step, gone in zip(steps["step_us"], waits, strict=True)]
    steps["data_wait_us"] = [wait // 10 for wait in steps["data_wait_us"]]
    return window | {"steps": [steps]}


def headline(page: Page) -> str:
    return page.locator("h1").inner_text().replace("\u00a0", " ").replace("\u2060", "")


def painted(page: Page) -> int:
    """Pixels of the chart over all runs that are not empty."""
    return int(
        page.locator("#overlay canvas").evaluate(
            "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data"
            ".reduce((sum, value, index) => sum + (index % 4 === 3 && value > 0), 0)"
        )
    )


def test_runs_that_were_ticked_are_compared_by_a_key(page: Page) -> None:
    move(page, "/")
    page.get_by_label("Select slow").check()
    expect(page.get_by_role("button", name="Compare")).to_be_disabled()
    page.get_by_label("Select quick").check()
    page.keyboard.press("c")
    expect(page).to_have_url(re.compile(r"/compare\?run_id=\w+&run_id=\w+$"))
    move(page, "/compare?run_id=slow&run_id=quick")
    expect(page.locator("h1")).to_contain_text("because data wait fell from")
    assert re.match(r"quick is 1\.\d\d × as fast as slow \(95 % 1\.\d\d–\d\.\d\d\), because data wait", headline(page))
    expect(page.locator("#settings tbody tr")).to_have_count(1)
    expect(page.locator("#settings tbody tr")).to_contain_text("num_workers")
    expect(page.locator("#overlay canvas")).to_be_visible()
    assert painted(page) > 5_000
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_the_baseline_is_changed_and_runs_are_removed_and_added(page: Page) -> None:
    move(page, "/compare?run_id=slow&run_id=quick&by=time")
    page.get_by_role("button", name="Make quick the baseline").click()
    expect(page.locator("h1")).to_contain_text("slow is 0.")
    page.keyboard.press("/")
    page.get_by_label("Find a run to add").fill("oth")
    page.locator(".picker li button").filter(has_text="other").click()
    expect(page.locator(".run-line")).to_have_count(3)
    expect(page.get_by_label("What to bear in mind")).to_contain_text("Batch sizes differ (32, 64)")
    assert "by=time" in page.url
    page.get_by_role("button", name="Remove other from the comparison").click()
    expect(page.locator(".run-line")).to_have_count(2)
    page.go_back()
    expect(page.locator(".run-line")).to_have_count(3)


def test_the_chart_over_all_runs_is_read_by_keys_and_as_a_table(page: Page) -> None:
    move(page, "/compare?run_id=slow&run_id=quick")
    slider = page.get_by_role("slider")
    slider.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^step 0 · slow .+ms · quick .+ms$"))
    page.get_by_label("Metric").select_option("Data wait")
    page.get_by_role("button", name="Time", exact=True).click()
    expect(page).to_have_url(re.compile(r"metric=data_wait_us&by=time"))
    page.get_by_role("button", name="As table: Over the run").click()
    expect(page.get_by_role("group", name="Data wait").locator("tbody tr")).to_have_count(24)


def test_a_run_is_compared_with_the_earlier_one_of_its_job_from_its_own_page(address: str, page: Page) -> None:
    move(page, "/runs/quick")
    expect(page.get_by_role("button", name="Compare with…")).to_be_visible()
    page.keyboard.press("c")
    expect(page).to_have_url(f"{address}/compare?run_id=slow&run_id=quick")


def test_nothing_chosen_says_how_to_choose(inside_phone: Page) -> None:
    move(inside_phone, "/compare")
    expect(inside_phone.get_by_role("heading", name="Compare runs")).to_be_visible()
    inside_phone.locator(".picker li button").filter(has_text="slow").click()
    expect(inside_phone.get_by_text("Choose at least one more run")).to_be_visible()
    inside_phone.locator(".picker li button").filter(has_text="quick").click()
    expect(inside_phone.locator("h1")).to_contain_text("as fast as")
    found = Axe().run(inside_phone)
    assert found.violations_count == 0, found.generate_report()


def test_a_run_that_is_not_there_is_said_and_another_can_be_chosen(address: str, visitor: Page) -> None:
    visitor.goto(f"{address}/compare?run_id=slow&run_id=nobody")
    expect(visitor.get_by_text("there is no run 'nobody'")).to_be_visible()
    expect(visitor.get_by_label("Find a run to add")).to_be_visible()


def test_runs_of_other_batch_sizes_lie_along_samples_unless_asked_otherwise(page: Page) -> None:
    move(page, f"/compare?run_id={NAMES[0]}&run_id={NAMES[2]}")
    panel = page.locator("#overlay")
    expect(panel.get_by_role("button", name="Samples")).to_have_attribute("aria-pressed", "true")
    expect(panel).to_contain_text("Batch sizes differ: by samples")
    panel.get_by_role("button", name="Step", exact=True).click()
    expect(panel.get_by_role("button", name="Samples")).to_have_attribute("aria-pressed", "false")
    assert page.url.endswith("&by=step")
    show(page, f"/compare?run_id={NAMES[0]}&run_id={NAMES[1]}")
    expect(panel.get_by_role("button", name="Step", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(panel.get_by_role("button", name="Samples")).to_have_count(0)
