"""The page in a real browser, on a real service, fed by real training runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.app.serving import Service, start_service
from tests.e2e.conftest import training
from underfed_server.model import Diagnosis

pytestmark = pytest.mark.alone

LIVE_MS = 40_000


def open_run(page: Page, service: Service, run_id: str) -> None:
    page.goto(f"{service.address}/runs/{run_id}")


def test_an_empty_service_says_how_to_begin_and_with_its_own_address(
    page: Page, tmp_path_factory: pytest.TempPathFactory
) -> None:
    empty = start_service(tmp_path_factory.mktemp("empty") / "underfed.db")
    try:
        page.goto(empty.address)
        expect(page.get_by_text("underfed.watch(loader)")).to_be_visible()
        expect(page.get_by_text(f"UNDERFED_URL={empty.address}")).to_be_visible()
    finally:
        page.goto("about:blank")
        empty.kill()


def test_a_run_appears_and_its_verdict_forms_while_it_trains(page: Page, service: Service, data: Path) -> None:
    page.goto(service.address)
    with training(data, service, num_workers=0, seconds=40) as job:
        row = page.locator(f'a[href="/runs/{job.run_id}"]').first
        expect(row).to_be_visible(timeout=LIVE_MS)
        row.click()
        expect(page.get_by_text(re.compile("waits for data|kept busy"))).to_be_visible(timeout=LIVE_MS)
        steps = page.get_by_text(re.compile(r"step \d+|\d+ steps")).first
        before = steps.inner_text()
        expect(steps).not_to_have_text(before, timeout=LIVE_MS)
        assert job.process.poll() is None, "the verdict came while the job trained"


def test_the_starved_run_says_what_why_and_what_to_change(page: Page, service: Service, starved: Diagnosis) -> None:
    open_run(page, service, starved.run_id)
    expect(page.get_by_text(starved.sentence)).to_be_visible()
    assert starved.why is not None
    expect(page.get_by_text(starved.why)).to_be_visible()
    advice = starved.advice[0]
    expect(page.get_by_text(advice.title)).to_be_visible()
    assert advice.predicted_speedup is not None
    expect(page.get_by_text(f"× {advice.predicted_speedup:.2f}").first).to_be_visible()
    expect(page.get_by_text("num_workers=2,").or_(page.get_by_text(f"num_workers={advice.to},")).first).to_be_visible()
    expect(page.get_by_text(re.compile("NVIDIA driver|NVML")).first).to_be_visible()
    expect(page.get_by_text("Without workers no batch is loaded ahead")).to_be_visible()
    expect(page.locator("canvas").first).to_be_visible()


def test_the_diff_can_be_copied(page: Page, service: Service, starved: Diagnosis) -> None:
    open_run(page, service, starved.run_id)
    page.get_by_role("button", name=re.compile("Copy diff")).first.click()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert f"+    num_workers={starved.advice[0].to}," in copied


def test_the_mended_run_shows_predicted_and_observed(page: Page, service: Service, mended: Diagnosis) -> None:
    entry = mended.ledger[0]
    assert entry.observed_speedup is not None
    open_run(page, service, mended.run_id)
    expect(page.get_by_text(f"× {entry.observed_speedup:.2f}").first).to_be_visible()
    expect(page.get_by_text(f"× {entry.predicted_speedup:.2f}").first).to_be_visible()
    open_run(page, service, entry.advice_of)
    expect(page.get_by_text(f"× {entry.observed_speedup:.2f}").first).to_be_visible()


def test_the_runs_table_lists_both(page: Page, service: Service, starved: Diagnosis, mended: Diagnosis) -> None:
    page.goto(service.address)
    for run in (starved, mended):
        expect(page.locator(f'a[href="/runs/{run.run_id}"]').first).to_be_visible()
    expect(page.get_by_text("no workers").first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("where", ["runs", "run"])
def test_nobody_is_shut_out(
    page: Page, service: Service, starved: Diagnosis, mended: Diagnosis, scheme: str, where: str
) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(service.address if where == "runs" else f"{service.address}/runs/{mended.run_id}")
    expect(page.get_by_text("photographs").first).to_be_visible()
    if where == "run":
        expect(page.locator("canvas").first).to_be_visible()
    violations = Axe().run(page).response["violations"]
    assert [(found["id"], found["nodes"][0]["html"]) for found in violations] == []


@pytest.mark.parametrize("where", ["runs", "run"])
def test_a_phone_never_scrolls_sideways(phone: Page, service: Service, starved: Diagnosis, where: str) -> None:
    phone.goto(service.address if where == "runs" else f"{service.address}/runs/{starved.run_id}")
    expect(phone.get_by_text("photographs").first).to_be_visible()
    assert phone.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_an_unknown_run_is_told_and_not_an_empty_page(visitor: Page, service: Service) -> None:
    visitor.goto(f"{service.address}/runs/nothing-here")
    expect(visitor.get_by_text("nothing-here").first).to_be_visible()


def test_the_keyboard_reaches_a_run(page: Page, service: Service, starved: Diagnosis, mended: Diagnosis) -> None:
    page.goto(service.address)
    expect(page.locator("a[href^='/runs/photographs']").first).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator("tbody a:focus")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/runs/photographs-"))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
