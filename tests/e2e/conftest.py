"""A real service, a real training job, and a real browser."""

from __future__ import annotations

import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from tests.app.conftest import _routes_made_once, _statements_compiled_once
from tests.app.serving import Service, start_service
from tests.fakes.chromium import chromium
from tests.fakes.environment import clean_environment
from tests.fakes.gallery.storing import store_team
from underfed_server.terminal.client import Client

__all__ = ["_routes_made_once", "_statements_compiled_once"]
"""For the services in these tests' own process."""

ROOT = Path(__file__).parents[2]

# Where other tests take the cores a page may come late; one that comes costs no more.
expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the spool and the database of these tests lie."""
    return tmp_path_factory.mktemp("e2e")


@pytest.fixture(scope="session")
def service(data: Path) -> Iterator[Service]:
    served = start_service(data / "underfed.db")
    yield served
    served.kill()


@pytest.fixture(scope="session")
def client(service: Service) -> Client:
    return Client(service.address)


@dataclass(frozen=True, slots=True)
class Job:
    run_id: str
    process: subprocess.Popen[bytes]


@contextmanager
def training(data: Path, service: Service) -> Iterator[Job]:
    """A job that loads without workers for two thirds of each step, by sleeping: no busy core makes it slower."""
    run_id = f"starved-{uuid.uuid4().hex[:8]}"
    options = ["--sample-ms", "10", "--work-ms", "20", "--length", "1000000"]
    environment = clean_environment(
        UNDERFED_URL=service.address, UNDERFED_DIR=str(data), UNDERFED_NAME="starved", UNDERFED_RUN_ID=run_id
    )
    command = [sys.executable, "-m", "tests.fakes.training", *options]
    process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        yield Job(run_id, process)
    finally:
        process.kill()
        process.wait()


NOT_LOOKED_AT = (
    "llama-1b-fineweb-03",
    "olmo-1b-dolma-32-hosts",
    *(f"vit-s16-sweep-{day:02}" for day in range(5, 13)),
    "recorded-crash",
    "recorded-crowded-alone",
    "recorded-crowded-pictures-by-two",
    "recorded-crowded-tiny",
    "recorded-crowded-worker",
    "recorded-joined-volumes",
    "recorded-paired",
    "recorded-web-stream",
    "recorded-with-accelerate",
)
"""Runs of the team that no test opens, and whose judging is half of what the team costs."""
LOOKED_AT_IN_SOAK = ("fineweb-stream", "recorded-tuned", "recorded-with-trainer", "vit-s16-sweep-03")
"""By no other test."""


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory, worker_id: str, pytestconfig: pytest.Config) -> Path:
    """Where a database lies with the made runs of a team: every cause and state. Filled once for all processes."""
    here = tmp_path_factory.getbasetemp()
    directory = (here if worker_id == "master" else here.parent) / "gallery"
    with FileLock(f"{directory}.lock"):
        if not directory.exists():
            directory.mkdir()
            left_out = NOT_LOOKED_AT if pytestconfig.getoption("--soak") else NOT_LOOKED_AT + LOOKED_AT_IN_SOAK
            store_team(directory / "underfed.db", without=left_out)
    return directory


@pytest.fixture(scope="session")
def gallery(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with those runs, for these tests to change."""
    copied = shutil.copytree(filled, tmp_path_factory.mktemp("gallery") / "data")
    served = start_service(copied / "underfed.db")
    yield served
    served.kill()


ONE_PROCESS = "--renderer-process-limit=1"
"""For all pages of a context, as long as one is open; and none in advance, which most pages would leave unused."""


WITHOUT_GPU = "--disable-gpu-compositing"
"""Else frames are put together by a simulated GPU: a fifth of what a page costs."""


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One for all these tests. Not for others: while it is open, no event loop can run in this process."""
    with chromium(ONE_PROCESS, WITHOUT_GPU) as launched:
        yield launched


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Service]:
    """A service of the test's own, without a run."""
    service = start_service(tmp_path / "underfed.db")
    yield service
    service.kill()


def as_owner(page: Page, address: str, token: str) -> None:
    """Sign the page's browser in as who may change runs."""
    assert page.request.post(f"{address}/api/v1/session", data={"token": token}).ok


REST = "/alerts"
"""The lightest path of the page."""


def move(page: Page, path: str) -> None:
    """To another path of the service whose page is shown, as its own links do: nothing is loaded or compiled again."""
    page.evaluate("path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')) }", path)


def show(page: Page, path: str) -> None:
    """Move there by way of the lightest path, so that nothing of what was shown is taken for what will be."""
    move(page, REST)
    expect(page.locator(".run-head, table")).to_have_count(0)
    move(page, path)


def settle(page: Page) -> None:
    """Wait until what was asked for is drawn."""
    page.evaluate("new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")


def as_on_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    settle(page)


Contexts = Callable[[int, int], BrowserContext]
"""By the width and height of their pages."""


@pytest.fixture(scope="package")
def contexts(browser: Browser) -> Contexts:
    """A new one has to be given the page's scripts again, and a process that compiles them again: a third of what a
    page costs."""

    def opened(width: int, height: int) -> BrowserContext:
        context = quiet_context(browser, width=width, height=height)
        context.new_page()  # it stays, and the process with it
        return context

    return cache(opened)


def quiet_context(browser: Browser, *, width: int, height: int) -> BrowserContext:
    return browser.new_context(
        viewport={"width": width, "height": height}, permissions=["clipboard-read", "clipboard-write"]
    )


@pytest.fixture
def page(contexts: Contexts) -> Iterator[Page]:
    """A desktop page without errors in its console or violations of its policy."""
    yield from quiet_page(contexts(1440, 900))


@pytest.fixture(scope="module")
def home(gallery: Service) -> str:
    """Of the pages that tests ``move`` within. A module with a service of its own has another."""
    return gallery.address


@pytest.fixture(scope="module")
def loaded(contexts: Contexts, home: str) -> Iterator[Page]:
    yield from quiet_page(contexts(1440, 900))


@pytest.fixture
def inside(loaded: Page, home: str) -> Iterator[Page]:
    """A desktop page of that service for tests that ``move`` within it, at half of what it costs to load it each time.
    What they look at is drawn anew; what they did to the page itself is undone."""
    if loaded.url.startswith(home):
        move(loaded, REST)
    else:
        loaded.goto(f"{home}{REST}")
    expect(loaded.locator(".run-head")).to_have_count(0)
    expect(loaded.locator("main h1")).to_be_visible()
    yield loaded
    loaded.unroute_all()
    loaded.emulate_media(media="null", color_scheme="null")
    loaded.set_viewport_size({"width": 1440, "height": 900})
    loaded.mouse.move(0, 0)
    forget(loaded)
    if loaded.context.cookies():
        loaded.context.clear_cookies()
        loaded.goto("about:blank")


@pytest.fixture
def inside_phone(inside: Page) -> Page:
    """The same as wide as a phone."""
    as_on_a_phone(inside)
    return inside


@pytest.fixture
def timed(browser: Browser) -> Iterator[Page]:
    """Such a page whose clock a test may set: that of all pages of its context."""
    context = quiet_context(browser, width=1440, height=900)
    yield from quiet_page(context)
    context.close()


@pytest.fixture
def visitor(contexts: Contexts) -> Iterator[Page]:
    """A desktop page that asks for what is not there: the browser's own note of a 404 is no fault of the page."""
    yield from passing_page(contexts(1440, 900))


@pytest.fixture
def phone(contexts: Contexts) -> Iterator[Page]:
    yield from quiet_page(contexts(390, 844))


def passing_page(context: BrowserContext) -> Iterator[Page]:
    """Nothing of it is left in its context but what the browser knows of the service's files."""
    before = context.pages
    yield context.new_page()
    for each in context.pages:
        if each not in before:
            forget(each)
            each.close()
    context.clear_cookies()


def quiet_page(context: BrowserContext) -> Iterator[Page]:
    """Such a page that says nothing in its console."""
    complaints: list[str] = []
    deleted: list[str] = []

    def note(message: ConsoleMessage) -> None:
        # What is asked of a run in the moment in which it is deleted is not there any more.
        is_gone = message.location["url"].startswith(tuple(deleted)) and "404" in message.text
        if message.type in ("error", "warning") and not is_gone:
            complaints.append(message.text)

    for opened in passing_page(context):
        opened.on("request", lambda request: deleted.append(request.url) if request.method == "DELETE" else None)
        opened.on("console", note)
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        yield opened
    assert complaints == []


def forget(page: Page) -> None:
    """What the page stored; that of a tab goes with it."""
    if not page.url.startswith("http"):
        return
    origin = "://".join(urlsplit(page.url)[:2])
    page.context.new_cdp_session(page).send(
        "Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "local_storage"}
    )
