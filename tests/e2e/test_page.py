"""The page in a real browser, on a real service: a run that trains, a starved one, and one with the advised change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.app.serving import Service, start_service
from tests.e2e.conftest import Contexts, move, quiet_page, show, training
from underfed_server.figures import gain
from underfed_server.model import Diagnosis
from underfed_server.terminal.client import Client

LIVE_MS = 90_000
"""Within it a job has begun and lost enough to be judged."""

STARVED, MENDED = "bert-tiny-laptop", "ast-audioset-w8"


@pytest.fixture(scope="module")
def starved(gallery: Service) -> Diagnosis:
    """Of a run that loads without workers and has no device."""
    return Client(gallery.address).diagnosis(STARVED)


@pytest.fixture(scope="module")
def mended(gallery: Service) -> Diagnosis:
    """Of a run with the number of workers that the one before it was advised."""
    return Client(gallery.address).diagnosis(MENDED)


def test_a_page_finds_nothing_that_an_earlier_one_stored(contexts: Contexts, gallery: Service) -> None:
    """They share a context, and with it scripts and fonts."""
    for _ in range(2):
        for page in quiet_page(contexts(1440, 900)):
            page.goto(f"{gallery.address}/api/v1/service")
            assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
            page.evaluate("localStorage.setItem('underfed-theme', 'dark'); document.cookie = 'name=value'")


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


@pytest.mark.soak(passes=2, of=3)
def test_a_run_appears_and_its_verdict_forms_while_it_trains(
    page: Page, service: Service, client: Client, data: Path
) -> None:
    """A real training, from its first batch to what is wrong with it."""
    page.goto(service.address)
    with training(data, service) as job:
        row = page.locator(f'a[href="/runs/{job.run_id}"]').first
        expect(row).to_be_visible(timeout=LIVE_MS)
        row.click()
        expect(page.get_by_text(re.compile("The training loop waits for data"))).to_be_visible(timeout=LIVE_MS)
        steps = page.get_by_text(re.compile(r"step \d+|\d+ steps")).first
        before = steps.inner_text()
        expect(steps).not_to_have_text(before, timeout=LIVE_MS)
        assert job.process.poll() is None, "the verdict came while the job trained"
        found = client.diagnosis(job.run_id)
    assert (found.bound, found.loader) == ("data", "train")
    assert "no_workers" in [finding.cause for finding in found.causes]


def test_the_starved_run_says_what_why_and_what_to_change(inside: Page, starved: Diagnosis) -> None:
    page = inside
    move(page, f"/runs/{starved.run_id}")
    expect(page.get_by_text(starved.sentence)).to_be_visible()
    assert starved.why is not None
    expect(page.get_by_text(starved.why)).to_be_visible()
    advice = starved.advice[0]
    expect(page.get_by_role("heading", name=advice.title)).to_be_visible()
    assert advice.predicted_speedup is not None
    expect(page.get_by_text(gain(advice)).filter(visible=True).first).to_be_visible()
    expect(page.get_by_text("num_workers=2,").or_(page.get_by_text(f"num_workers={advice.to},")).first).to_be_visible()
    expect(page.locator("canvas").first).to_be_visible()
    # Without a GPU and a queue there are no charts of them, and the reason is among what was not measured.
    expect(page.get_by_role("heading", name="GPU busy")).to_have_count(0)
    expect(page.get_by_role("heading", name="Batches ready when")).to_have_count(0)
    page.locator("footer summary").click()
    expect(page.get_by_text(re.compile("NVIDIA driver|NVML")).first).to_be_visible()
    page.get_by_role("button", name=re.compile("Copy (diff|sketch)")).first.click()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert f"+    num_workers={advice.to}," in copied


def test_the_mended_run_shows_predicted_and_observed(inside: Page, mended: Diagnosis) -> None:
    page = inside
    entry = mended.ledger[0]
    assert entry.observed_speedup is not None
    move(page, f"/runs/{mended.run_id}")
    expect(page.get_by_text(f"× {entry.observed_speedup:.2f}").first).to_be_visible()
    expect(page.get_by_text(f"× {entry.predicted_speedup:.2f}").first).to_be_visible()
    show(page, f"/runs/{entry.advice_of}")
    expect(page.get_by_text(f"× {entry.observed_speedup:.2f}").first).to_be_visible()


def test_the_runs_table_lists_both(inside: Page, starved: Diagnosis, mended: Diagnosis) -> None:
    page = inside
    page.set_viewport_size({"width": 1440, "height": 3000})  # only rows in view are drawn
    move(page, "/")
    for run in (starved, mended):
        expect(page.locator(f'a[href="/runs/{run.run_id}"]').first).to_be_visible()
    expect(page.get_by_text("no workers").first).to_be_visible()


def test_an_unknown_run_is_named_and_not_an_empty_page(visitor: Page, gallery: Service) -> None:
    visitor.goto(f"{gallery.address}/runs/nothing-here")
    expect(visitor.get_by_text("nothing-here").first).to_be_visible()
