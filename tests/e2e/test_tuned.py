"""The page of a run that tunes itself: trials appear as they come, and what was kept, without another load."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.app.made_tuning import THREE, TunedRun, loader, searching, waiting
from tests.app.serving import Service, poll, start_service
from tests.scenarios.pipelines.running import post


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = start_service(tmp_path_factory.mktemp("tuned") / "underfed.db")
    yield service
    service.kill()


def test_trials_and_what_was_kept_appear_while_the_run_trains(page: Page, served: Service) -> None:
    run = TunedRun()
    post([waiting(run), *searching(run)], served.address)
    page.goto(f"{served.address}/runs/tuned")
    trials = page.locator("#trials")
    expect(trials).to_contain_text("trying settings")
    expect(trials.get_by_role("row")).to_have_count(3)

    kept = run.kept()
    post([run.train(60, THREE, tuning=[kept], loaders=[loader(THREE)])], served.address)
    expect(trials).to_contain_text("num_workers 0 → 3, prefetch_factor None → 2: × 3.40 as fast, measured")
    expect(trials.get_by_role("row").last).to_have_text(re.compile("num_workers=3.*kept.*× 3.40.*× 3.20"))
    expect(page.locator(".ledger"), "the gain is shown with its trials").to_have_count(0)
    expect(page.locator(".verdict")).to_contain_text("judged from step 140 on", ignore_case=True)
    # Beside the charts, as no fix is advised.
    settings = page.locator("#settings")
    settings.locator("summary").first.click()
    expect(settings.locator("dd").first).to_be_visible()
    assert min(settings.locator("dd").evaluate_all("all => all.map(each => each.clientWidth)")) >= 100
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page, {"include": [["#trials"]]})
        assert found.violations_count == 0, found.generate_report()
    page.set_viewport_size({"width": 390, "height": 800})
    # Asked from here: the page's own policy forbids what would be evaluated in it again and again.
    content = "document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth"
    poll(lambda: page.evaluate(content) <= 0)
