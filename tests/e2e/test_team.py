"""The Team page in a real browser: what could be recovered, by whom to start, and the way to the runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.app.made_diagnosis import made_advice, made_cause, made_diagnosis, made_entry
from tests.app.made_windows import LOADER, RUN, made_window
from tests.app.serving import application_in, serving, settings_for
from tests.app.store.posting import post
from tests.e2e.conftest import as_on_a_phone

PLACE = {"loader": "train", "mount": "/data", "device": "nas:/imagenet", "kind": "network", "files_seen": 9}


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Ada's two runs and Bob's one on a network mount, judged: each lost 2 of 5 hours, Bob's without a prediction."""
    application = application_in(tmp_path)
    store = application.parts.store
    started = (datetime.now(timezone.utc) - timedelta(seconds=100)).isoformat()
    for name, user, speedup in (("alpha", "ada", 1.25), ("beta", "ada", 1.25), ("gamma", "bob", None)):
        said = {"run": RUN | {"name": name, "user": user}, "loaders": [LOADER | {"dataset_type": "ImageFolder"}]}
        post(store, [made_window(0, run_id=name, started_at=started, end_us=90_000_000, storage=[PLACE], **said)])
        advice = [made_advice(speedup).model_copy(update={"low": 1.1, "high": 1.3})] if speedup else []
        ledger = [made_entry("beta", 1.5)] if name == "beta" else []
        cause = [made_cause("storage_wait")]
        store.save_diagnosis(made_diagnosis(name, causes=cause, advice=advice, ledger=ledger))
    with serving(application, settings_for(tmp_path)) as served:
        yield served


def test_the_sentence_says_what_would_come_back_and_by_whom_to_start_and_each_group_leads_to_its_runs(
    address: str, page: Page
) -> None:
    page.goto(f"{address}/team")
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "Of 6 hours lost this week, 54.5 minutes – 2.31 hours could be recovered with the best advice for each run."
    )
    expect(page.get_by_text("Start with ada: 54.5 minutes – 2.31 hours of it. The range is")).to_be_visible()
    expect(page.get_by_text("3 runs wait for storage at nas:/imagenet at the same time.")).to_be_visible()
    expect(page.get_by_role("row", name="number of workers 1")).to_be_visible()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    as_on_a_phone(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390, "it fits a phone"
    expect(page.get_by_role("list", name="People")).to_be_visible()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.set_viewport_size({"width": 1440, "height": 900})

    page.get_by_role("list", name="Data sets").get_by_role("link").focus()
    page.keyboard.press("Enter")
    expect(page.locator("tbody a.run-name")).to_have_count(3)
    page.go_back()
    page.get_by_role("list", name="People").get_by_role("link", name="ada").click()
    expect(page.locator("tbody a.run-name")).to_have_count(2)
    page.go_back()
    page.get_by_role("button", name="As table: People").click()
    expect(page.get_by_role("row", name="bob"), "the figures stand in a table too").to_contain_text("–")
