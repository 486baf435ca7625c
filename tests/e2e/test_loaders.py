"""The page of a run with several loaders: one choice switches verdict, advice, charts and address."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.app.made_loops import Thread
from tests.app.serving import Service, judged, start_service
from tests.e2e.conftest import as_on_a_phone, move
from tests.scenarios.pipelines.running import post
from tests.scenarios.pipelines.synthetic import slow_validation, zipped_loaders
from underfed_server.terminal.client import Client

VALIDATED, ZIPPED, LIVE = "validated", "zipped", "live"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = start_service(tmp_path_factory.mktemp("loaders") / "underfed.db")
    post(slow_validation.windows("clear", VALIDATED), service.address)
    post(zipped_loaders.windows("clear", ZIPPED), service.address)
    for run_id in (VALIDATED, ZIPPED):
        judged(Client(service.address), run_id)
    yield service
    service.kill()


@pytest.fixture(scope="module")
def home(served: Service) -> str:
    return served.address


@pytest.fixture
def page(inside: Page) -> Page:
    return inside


def open_run(page: Page, run_id: str, search: str = "") -> None:
    move(page, f"/runs/{run_id}{search}")
    expect(page.locator("#verdict-sentence")).to_be_visible()


def loader(page: Page, name: str) -> Locator:
    return page.get_by_role("radio", name=re.compile(f"^{name}"))


def verdict(page: Page) -> Locator:
    """The one on the chosen loader stands below the run's."""
    return page.locator(".verdict").last


def test_one_choice_switches_verdict_advice_charts_and_address(page: Page) -> None:
    open_run(page, VALIDATED)
    expect(loader(page, "val")).to_be_checked()
    expect(page.get_by_text("the run’s verdict")).to_have_count(1)
    expect(verdict(page)).to_have_text(
        re.compile(r"Data-bound.*for the validation loader val.*loads every batch itself", re.DOTALL)
    )
    expect(
        page.get_by_role("img", name=re.compile("^Mean step of val: 50 ms: 40 ms data wait, 10 ms compute"))
    ).to_be_visible()
    expect(page.locator(".fix summary").first).to_have_text(
        re.compile("num_workers.*of val; gain in the time of the loops", re.DOTALL)
    )
    expect(page.locator("#settings")).to_contain_text("val, as found")

    loader(page, "val").press("ArrowLeft")
    expect(loader(page, "train")).to_be_checked()
    expect(page).to_have_url(re.compile(r"\?loader=train$"))
    expect(verdict(page)).to_contain_text("Healthy")
    expect(page.get_by_role("img", name=re.compile("^Mean step of train: 50.5 ms: 500 µs data wait"))).to_be_visible()
    expect(page.get_by_text("None needed")).to_be_visible()
    expect(page.locator("#settings")).to_contain_text("train, as found")
    expect(page.locator("#workers")).to_contain_text("Worker by worker")
    expect(page.get_by_role("status").filter(has_text="The run’s verdict, above, is about val")).to_be_visible()

    page.reload()
    expect(loader(page, "train")).to_be_checked()
    expect(verdict(page)).to_contain_text("Healthy")
    page.go_back()
    expect(verdict(page)).to_contain_text("Data-bound")
    expect(loader(page, "val")).to_be_checked()


def test_waits_for_other_loaders_are_a_part_of_the_step_of_their_own(page: Page) -> None:
    open_run(page, ZIPPED)
    label = r"^Mean step of labels: 101 ms: 40 ms data wait, (1 ms|99\d µs) waiting for other loaders, 60 ms compute$"
    expect(page.get_by_role("img", name=re.compile(label))).to_be_visible()
    too_narrow_for_words = re.compile(r"^(1 ms|99\d µs) waiting for other loaders$")
    expect(page.get_by_text(too_narrow_for_words)).to_be_visible()
    label = r"^Stacked step time.*data wait 40 ms, waiting for other loaders (1 ms|\d+ µs), compute (60|59\.\d) ms"
    expect(page.get_by_role("img", name=re.compile(label))).to_be_visible()
    loader(page, "images").check(force=True)
    label = r"^Mean step of images: 101 ms: .* data wait, (40|39.\d) ms waiting for other loaders, 60 ms compute$"
    expect(page.get_by_role("img", name=re.compile(label))).to_be_visible()


def test_another_loader_of_a_live_run_goes_on(page: Page, served: Service) -> None:
    thread = Thread(LIVE, train=2, val=0)
    thread.run_through("train", 60, 0.5, 50)
    thread.run_through("val", 40, 60, 10)
    post([thread.window()], served.address)
    open_run(page, LIVE, "?loader=train")
    steps = verdict(page).get_by_text(re.compile(r"from the last (\d+) steps"))
    expect(steps).to_contain_text("55 steps")
    thread.run_through("train", 60, 0.5, 50)
    post([thread.window()], served.address)
    expect(steps).to_contain_text("115 steps")


def test_a_loader_that_does_not_exist_leaves_the_runs_own_verdict(visitor: Page, served: Service) -> None:
    visitor.goto(f"{served.address}/runs/{VALIDATED}?loader=nope")
    expect(visitor.locator("#verdict-sentence")).to_be_visible()
    expect(visitor.get_by_text("The verdict on this loader could not be read")).to_be_visible()
    expect(verdict(visitor)).to_contain_text("Data-bound")
    loader(visitor, "train").check(force=True)
    expect(verdict(visitor)).to_contain_text("Healthy")
    expect(visitor.get_by_text("could not be read")).to_have_count(0)


# In dark, the pages of other runs are looked at in test_everyone.py and test_run_page.py.
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.soak)])
def test_axe_finds_nothing_and_a_phone_shows_the_loaders_without_scrolling_sideways(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    open_run(page, ZIPPED, "?loader=images")
    expect(page.get_by_role("status").filter(has_text="The run’s verdict, above, is about labels")).to_be_visible()
    expect(page.locator("#timeline")).to_be_visible()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    as_on_a_phone(page)
    content = "document.querySelector('main').scrollWidth"
    assert page.evaluate(content) <= page.evaluate("document.querySelector('main').clientWidth")
