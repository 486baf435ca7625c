"""The Hosts page in a real browser: who uses what of each machine, one of them over time, and beside a run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.app.made_diagnosis import made_cause, made_diagnosis
from tests.app.made_hosts import FACTS, made_samples
from tests.app.made_windows import RUN, made_stream
from tests.app.serving import application_in, serving, settings_for
from tests.app.store.posting import post
from tests.e2e.conftest import as_on_a_phone
from underfed_server.main import Application


@pytest.fixture
def application(tmp_path: Path) -> Iterator[Application]:
    opened = application_in(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def empty(application: Application, tmp_path: Path) -> Iterator[str]:
    """Of a service without a run. For a test to ask for before its page, which is closed before it then: a page that
    still asks of what has ended complains."""
    with serving(application, settings_for(tmp_path)) as served:
        yield served


@pytest.fixture
def address(application: Application, empty: str) -> str:
    """Two runs that leave no core of ``gpu-03`` idle, and one alone on ``gpu-04``, each for two minutes up to now."""
    store = application.parts.store
    started = (datetime.now(timezone.utc) - timedelta(seconds=120)).isoformat()
    for name, hostname, cores, busy in (
        ("alpha", "gpu-03", 5.0, 7.9),
        ("beta", "gpu-03", 2.5, 7.9),
        ("gamma", "gpu-04", 1.0, 2.0),
    ):
        post(
            store,
            made_samples(name, seconds=120, cores=cores, busy=busy, name=name, hostname=hostname, started_at=started),
        )
        store.save_diagnosis(made_diagnosis(name, causes=[made_cause("cpu_limited")]))
    return empty


def is_accessible(page: Page) -> bool:
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    return True


def test_one_look_tells_who_uses_each_host_and_a_key_leads_to_one_over_time_on_a_phone_too(
    address: str, page: Page
) -> None:
    page.goto(f"{address}/hosts")
    expect(page.get_by_role("heading", level=1)).to_contain_text(
        "Runs are active on both hosts. On gpu-03 they compete."
    )
    crowded = page.get_by_role("row").filter(has=page.get_by_role("link", name="gpu-03"))
    expect(crowded).to_contain_text("7.5 by runs · 0.4 others · 0.1 idle")
    expect(crowded).to_contain_text("95.4 MiB/s")
    expect(page.get_by_text("alpha and beta compete for 8 cores, of which 0.1 are idle.")).to_be_visible()
    assert is_accessible(page)
    as_on_a_phone(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1440, "height": 900})

    page.get_by_role("link", name="gpu-03").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("img", name="Cores in use")).to_be_visible()
    expect(page.locator(".spans a")).to_have_count(2)
    slider = page.get_by_role("slider")
    slider.focus()
    before = slider.get_attribute("aria-valuetext")
    page.keyboard.press("Home")
    expect(slider).not_to_have_attribute("aria-valuetext", before or "")
    as_on_a_phone(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert is_accessible(page)
    page.get_by_role("button", name="As table").click()
    expect(page.get_by_role("table").last).to_contain_text("Own cores")
    assert is_accessible(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="gpu-04")).to_be_visible()


def test_a_run_shows_its_host_on_its_own_time_axis(application: Application, empty: str, page: Page) -> None:
    started = (datetime.now(timezone.utc) - timedelta(seconds=200)).isoformat()
    post(application.parts.store, made_stream(100, run_id="steps", started_at=started, run=RUN | {"host": FACTS}))
    page.goto(f"{empty}/runs/steps")
    summary = page.get_by_text("node-1 during this run")
    expect(summary).to_be_visible()
    expect(page.get_by_role("img", name="Memory and /dev/shm")).to_have_count(0)
    summary.click()
    expect(page.get_by_role("img", name="Memory and /dev/shm")).to_be_visible()


def test_without_a_host_the_page_says_how_one_comes(empty: str, page: Page) -> None:
    page.goto(f"{empty}/hosts")
    expect(page.get_by_role("heading", level=1)).to_have_text("No host was seen in the last seven days.")
    page.goto(f"{empty}/team")
    expect(page.get_by_role("heading", level=1)).to_have_text("No training was judged in the last seven days.")
    assert is_accessible(page)
