"""The page keeps its place while it loads, its measure with long names, and works where browser or proxy do not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from playwright.sync_api import Error as PlaywrightError

from tests.app.made_windows import LOADER, RUN, made_stream, made_window
from tests.app.serving import Service, poll, start_service
from tests.e2e.conftest import REST, as_owner, move, show
from tests.e2e.test_hostile import send
from underfed_server.terminal.client import Client

MOST_SHIFT = 0.05
"""Half of what the browsers' makers call good."""

MOST_PX = 2_000
"""Of a run's page on a desktop: about two screens."""

MOST_PHONE_PX = 2_900
"""Of one on a phone: about three screens."""

STYLES = "**/assets/index-*.css"

OPTIONAL = "font-display:optional"
"""Of the page's own letters, in its stylesheet: where they come late it keeps the system's."""

WATCH = """
window.shift = 0
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value
}).observe({ type: 'layout-shift', buffered: true })
"""
SLOW = {"offline": False, "latency": 80, "downloadThroughput": 250_000, "uploadThroughput": 250_000}
"""Bytes a second and milliseconds: scripts, fonts and answers come one after the other."""

REFUSED = {"code": "unauthorized", "message": "a token is needed"}

LONG = "x".join(["a-very-long-name"] * 9)
HOSTS = [f"gpu-{index:02}.cluster-a.internal.example" for index in range(32)]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A run on 32 hosts, and one of which everything has a long name and which crashed with a long traceback."""
    served = start_service(tmp_path_factory.mktemp("wide") / "underfed.db")
    try:
        for rank, hostname in enumerate(HOSTS):
            for window in made_stream(3, run_id="wide", rank=rank, seed=rank):
                send(
                    served,
                    window | ({"run": {**RUN, "hostname": hostname, "world_size": 32}} if "run" in window else {}),
                )
        store_long(served)
        client = Client(served.address)
        for run_id in ("wide", "long"):
            poll(partial(is_judged, client, run_id))
        yield served
    finally:
        served.kill()


def is_judged(client: Client, run_id: str) -> bool:
    return client.diagnosis(run_id).judged_at is not None


def store_long(service: Service) -> None:
    names = dict.fromkeys(("name", "user", "project", "hostname"), LONG)
    run = {**RUN, **names, "tags": {"key": LONG}, "config": {LONG: LONG}, "command": ["torchrun", *[f"--{LONG}"] * 30]}
    loader = {**LOADER, "dataset_type": LONG, "transforms": [LONG] * 9, "watched_at": f"/{LONG}.py:12"}
    for window in made_stream(5, run_id="long"):
        send(service, window | ({"run": run, "loaders": [loader]} if "run" in window else {}))
    trace = "Traceback (most recent call last):\n" + "  File x\n" * 40 + "torch.OutOfMemoryError: CUDA out of memory."
    end = {"status": "crashed", "exit_reason": trace, "exit_code": 1}
    send(service, made_window(5, run_id="long", end=end))


DESKTOP, PHONE = (1440, 900), (390, 844)


@pytest.fixture
def cold(size: tuple[int, int], browser: Browser) -> Iterator[Page]:
    """A page without a cache behind a slow network, which notes what moves."""
    width, height = size
    context = browser.new_context(viewport={"width": width, "height": height})
    opened = context.new_page()
    network = context.new_cdp_session(opened)
    network.send("Network.enable")
    network.send("Network.setCacheDisabled", {"cacheDisabled": True})
    network.send("Network.emulateNetworkConditions", SLOW)
    opened.add_init_script(WATCH)
    yield opened
    context.close()


RUNS, RUN_PAGE, TEAM, COMPARE = "main tbody tr", ".footnote", "main .panel", "main .picker li"


@pytest.mark.parametrize(
    ("size", "pages"),
    [
        (DESKTOP, {"/": RUNS, "/runs/vit-b16-in1k-aug2": RUN_PAGE, "/team": TEAM}),
        (PHONE, {"/runs/dinov2-s-places": RUN_PAGE, "/compare": COMPARE}),
        pytest.param(
            DESKTOP,
            {"/runs/resnet50-in1k-base": RUN_PAGE, "/runs/dinov2-s-places": RUN_PAGE, "/compare": COMPARE},
            marks=pytest.mark.soak,
        ),
        pytest.param(
            PHONE,
            {"/": RUNS, "/runs/vit-b16-in1k-aug2": RUN_PAGE, "/runs/resnet50-in1k-base": RUN_PAGE, "/team": TEAM},
            marks=pytest.mark.soak,
        ),
    ],
)
def test_nothing_that_is_shown_moves_while_the_rest_comes(
    cold: Page, gallery: Service, pages: Mapping[str, str]
) -> None:
    for path, last in pages.items():
        cold.goto(f"{gallery.address}{path}")
        expect(cold.locator(last).first).to_be_attached()
        if path.startswith("/runs/"):
            expect(cold.locator("#timeline, #settings").last).to_be_attached()
        cold.wait_for_timeout(300)
        assert cold.evaluate("window.shift") <= MOST_SHIFT, path


def wait_for_own_letters(route: Route) -> None:
    """Of a stylesheet. On a slow machine the page would be in the system's letters, which may need more lines."""
    came = route.fetch()
    assert OPTIONAL in came.text()
    route.fulfill(response=came, body=came.text().replace(OPTIONAL, "font-display:block"))


def height(page: Page) -> Any:
    """In pixels, in the page's own letters."""
    page.evaluate("document.fonts.ready.then(() => true)")
    return page.evaluate("document.documentElement.scrollHeight")


def test_what_is_folded_opens_by_its_address(inside: Page) -> None:
    move(inside, "/runs/resnet50-in1k-base#settings")
    expect(inside.locator("#settings").get_by_text("batch_size")).to_be_visible()
    expect(inside.locator("#facts").get_by_text("cudnn")).to_be_hidden()
    show(inside, "/runs/mae-vit-l-copy?table=workers#ranks")
    expect(inside.locator("#workers").get_by_role("columnheader", name="Median")).to_be_visible()
    expect(inside.locator("#ranks").get_by_role("radio")).to_have_count(2)


def test_too_few_steps_are_drawn_as_not_judged(inside: Page) -> None:
    move(inside, "/runs/convnext-t-inat")
    expect(inside.locator("#steps .readout")).to_have_text("every step; not judged")
    assert "saturate" in inside.locator(".columns").evaluate("each => getComputedStyle(each).filter")
    expect(inside.locator("main")).to_contain_text("14 of 25 steps")


@pytest.mark.parametrize(
    "paths",
    [
        ("/", "/runs/long", "/compare?run_id=long&run_id=wide"),
        pytest.param(("/runs/wide", "/hosts", "/team"), marks=pytest.mark.soak),
    ],
)
def test_long_names_move_nothing_sideways(page: Page, wide: Service, paths: Sequence[str]) -> None:
    """And the whole of one is seen under the pointer."""
    page.goto(f"{wide.address}{REST}")
    for path in paths:
        show(page, path)
        expect(page.locator("main h1, main h2").first).to_be_visible()
        if path == "/runs/long":
            ends_in_an_ellipsis(page)
        for (width, height), most in ((DESKTOP, 4_000), (PHONE, 9_000)):
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_timeout(300)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
            assert page.evaluate("document.documentElement.scrollHeight") <= most, path
        page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})


def ends_in_an_ellipsis(page: Page) -> None:
    heading = page.locator("h1")
    expect(heading).to_have_attribute("title", LONG)
    assert heading.evaluate("each => each.scrollWidth > each.clientWidth || each.clientHeight <= 24")
    assert heading.evaluate("each => getComputedStyle(each).textOverflow") == "ellipsis"
    expect(page.get_by_text("torch.OutOfMemoryError: CUDA out of memory.").first).to_be_visible()
    expect(page.locator(".error-text")).to_be_hidden()


def test_words_that_the_bar_has_no_room_for_make_no_page_wider(inside: Page) -> None:
    page = inside
    page.set_viewport_size({"width": 700, "height": 800})
    words = page.locator(".link-state > span").first
    expect(words).to_be_attached()
    short = words.evaluate("each => each.textContent")
    words.evaluate("each => { each.firstChild.data = 'connected, last update 12 seconds ago '.repeat(4) }")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    words.evaluate("(each, short) => { each.firstChild.data = short }", short)


def test_in_the_letters_of_the_system_a_page_is_no_wider_than_a_phone(browser: Browser, gallery: Service) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.route("**/*.woff2", lambda route: route.abort())
    page.goto(f"{gallery.address}{REST}")
    for path in ("/", "/runs/resnet50-in1k-base", "/team", "/hosts"):
        show(page, path)
        expect(page.locator("main :is(table, .panel, .run-head)").first).to_be_visible()
        expect(page.locator("main h1, main h2").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    context.close()


def test_many_hosts_are_a_line_and_not_a_page(page: Page, wide: Service) -> None:
    page.goto(f"{wide.address}/runs/wide")
    expect(page.locator(".footnote details")).to_be_attached()
    page.locator(".footnote summary").click()
    text = page.locator("main").inner_text()
    assert text.count(HOSTS[0]) <= 4
    assert HOSTS[20] not in text
    assert page.locator(f'[title*="{HOSTS[20]}"]').count() >= 1


def test_on_a_phone_the_cause_the_first_fix_and_what_the_table_is_sorted_by_are_seen(inside_phone: Page) -> None:
    phone = inside_phone
    move(phone, "/")
    row = phone.locator("tr", has=phone.locator('a[href="/runs/vit-b16-in1k-aug2"]'))
    expect(row).to_contain_text("too few workers")
    expect(phone.get_by_role("columnheader").last).to_contain_text("Lost")
    show(phone, "/?group=job")
    expect(phone.locator("tr", has=phone.locator('a[href="/runs/vit-b16-in1k-aug2"]'))).to_contain_text(
        "too few workers"
    )
    show(phone, "/?sort=-step_us")
    expect(phone.get_by_role("columnheader").last).to_contain_text("Step")
    clipped = phone.evaluate(
        """[...document.querySelectorAll('main select, main button')].filter(each =>
            each.offsetParent && each.scrollWidth > each.clientWidth + 1 && !each.closest('.choices')).length"""
    )
    assert clipped == 0
    show(phone, "/runs/vit-b16-in1k-aug2")
    first_fix = phone.get_by_role("link", name="Raise num_workers")
    expect(first_fix).to_be_in_viewport(ratio=1)
    first_fix.click()
    expect(phone.locator("[data-fix='1'] > summary")).to_be_in_viewport()
    for key in ("-hours_lost", "-predicted_speedup", "-data_stall_fraction"):
        show(phone, f"/?project=vision&sort={key}")
        expect(phone.locator("th[aria-sort]")).to_be_visible()
        beyond = "each => each.getBoundingClientRect().right - document.documentElement.clientWidth"
        assert phone.locator("th[aria-sort] button").evaluate(beyond) <= 0


ANSWERED = ("vit-b16-in1k-aug2", "recorded-crowded-pictures", "recorded-straggler")
ANSWERED_TOO = ("recorded-with-trainer", "recorded-with-lightning")


@pytest.mark.parametrize("run_ids", [ANSWERED, pytest.param(ANSWERED_TOO, marks=pytest.mark.soak)])
def test_on_a_phone_verdict_reason_and_first_act_are_on_the_first_screen(
    phone: Page, gallery: Service, run_ids: Sequence[str]
) -> None:
    phone.route(STYLES, wait_for_own_letters)
    phone.goto(f"{gallery.address}{REST}")
    for run_id in run_ids:
        show(phone, f"/runs/{run_id}")
        expect(phone.locator(".footnote")).to_be_attached()
        for part in ("#verdict-sentence", ".why", ".first-fix"):
            expect(phone.locator(part).first, run_id).to_be_in_viewport(ratio=1)
        expect(phone.locator("#timeline")).to_be_attached()
        assert height(phone) <= MOST_PHONE_PX, run_id
        content = "document.querySelector('main').scrollWidth"
        assert phone.evaluate(content) <= phone.evaluate("document.querySelector('main').clientWidth"), run_id


def test_on_a_phone_what_is_not_the_answer_is_folded_and_opens(phone: Page, gallery: Service) -> None:
    phone.route(STYLES, wait_for_own_letters)
    phone.goto(f"{gallery.address}/runs/detr-coco-ddp")
    charts, last = phone.locator("#steps canvas"), phone.locator("#timeline canvas").first
    expect(last).to_be_attached()
    expect(phone.locator("#ranks").get_by_role("radio")).to_have_count(8)
    assert height(phone) <= MOST_PHONE_PX
    for folded, drawn in (("#steps .more-charts", charts.last), ("#timeline", last)):
        expect(drawn).to_be_hidden()
        phone.locator(f"{folded} > summary").click()
        expect(drawn).to_be_visible()
    phone.locator("#signals > summary").click()
    expect(phone.locator("#signals")).to_contain_text("Longest wait of a rank")
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")


CUT = """[...document.querySelectorAll('main *')].filter(each => {
    const { overflowX, textOverflow } = getComputedStyle(each)
    return each.checkVisibility() && ['hidden', 'clip'].includes(overflowX) && each.clientWidth > 20
        && each.scrollWidth > each.clientWidth + 1 && !(textOverflow === 'ellipsis' && each.closest('[title]'))
}).map(each => `${each.className}: ${each.textContent.slice(0, 60)}`)"""
"""Words that are cut off, but for those that end in an ellipsis and are whole in a title."""


HIGH = ("recorded-crowded-pictures", "recorded-three-loaders", "clip-b32-cc12m-web", "whisper-sm-common17")
HIGH_TOO = (
    "ast-audioset", "dinov2-s-places", "fineweb-stream", "mae-vit-l-copy", "recorded-tuned", "resnet50-in1k-base",
    "vit-s16-sweep-03",
)  # fmt: skip
WORDY = ("whisper-sm-common17", "recorded-with-lightning")
WORDY_TOO = ("recorded-tuned", "fineweb-stream")
PANELS = ("#steps", "#signals", "#settings", "#facts", "#workers", "#timeline")


@pytest.mark.parametrize(
    ("on_a_desktop", "on_a_phone"), [(HIGH, WORDY), pytest.param(HIGH_TOO, WORDY_TOO, marks=pytest.mark.soak)]
)
def test_a_run_is_about_two_screens_high_and_no_words_are_cut_off(
    page: Page, gallery: Service, on_a_desktop: Sequence[str], on_a_phone: Sequence[str]
) -> None:
    page.route(STYLES, wait_for_own_letters)
    page.goto(f"{gallery.address}{REST}")
    for run_id in on_a_desktop:
        show_drawn(page, run_id)
        for panel in PANELS:
            expect(page.locator(panel)).to_be_visible()
        assert height(page) <= MOST_PX, run_id
        assert_whole(page, run_id)
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    for run_id in on_a_phone:
        show_drawn(page, run_id)
        assert_whole(page, run_id)


def show_drawn(page: Page, run_id: str) -> None:
    show(page, f"/runs/{run_id}")
    expect(page.locator("#timeline")).to_be_visible()
    expect(page.get_by_role("heading", name="Where loading spends its time")).to_be_visible()


def assert_whole(page: Page, run_id: str) -> None:
    assert page.evaluate(CUT) == [], run_id
    short = page.locator(".code-place > .cut", has_text=re.compile(r"^ast/$"))
    assert all(folder.evaluate("each => each.scrollWidth <= each.clientWidth") for folder in short.all())


@pytest.mark.parametrize("size", [pytest.param(DESKTOP, marks=pytest.mark.soak), PHONE])
def test_menus_and_dialogs_fit_their_words(browser: Browser, gallery: Service, size: tuple[int, int]) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    page = context.new_page()
    as_owner(page, gallery.address, gallery.owner_token)
    page.goto(f"{gallery.address}/?project=vision")
    page.get_by_role("button", name="More actions").click()
    page.get_by_text("Retention of vision").click()
    expect(page.get_by_text("Its runs use")).to_be_visible()
    page.locator("dialog select").first.select_option("own")
    cut = page.evaluate(
        """[...document.querySelectorAll('select')].filter(each => {
            const whole = each.cloneNode(true)
            whole.value = each.value
            whole.style = 'field-sizing: content; position: absolute; width: auto; max-width: none'
            each.after(whole)
            const needs = whole.offsetWidth
            whole.remove()
            return needs > each.offsetWidth + 1
        }).map(each => each.selectedOptions[0].text)"""
    )
    context.close()
    assert cut == []


@pytest.mark.soak  # each time: frontend/test/kept.test.ts
def test_the_page_works_where_the_browser_stores_nothing(page: Page, gallery: Service) -> None:
    page.add_init_script(
        """for (const name of ['localStorage', 'sessionStorage'])
            Object.defineProperty(window, name, { get() { throw new DOMException('denied', 'SecurityError') } })
        window.BroadcastChannel = class { constructor() { throw new DOMException('denied', 'SecurityError') } }"""
    )
    page.goto(gallery.address)
    expect(page.locator("main tbody tr").first).to_be_visible()
    page.get_by_role("button", name="Theme: system").click()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()


@pytest.mark.soak  # each time: frontend/test/ui/parts.test.tsx
def test_a_proxy_that_answers_with_its_sign_in_is_distinguished_from_a_service_that_is_down(
    page: Page, gallery: Service
) -> None:
    page.route("**/api/v1/**", lambda route: route.fulfill(content_type="text/html", body="<h1>Sign in</h1>"))
    page.goto(gallery.address)
    expect(page.get_by_text("Something else answers in place of the service")).to_be_visible()
    page.unroute("**/api/v1/**")
    page.get_by_role("button", name="Try now").click()
    expect(page.get_by_text("Something else answers")).to_have_count(0)
    page.reload()
    expect(page.locator("main tbody tr").first).to_be_visible()


@pytest.mark.soak  # each time: frontend/test/ui/parts.test.tsx
def test_a_part_that_cannot_be_drawn_leaves_the_others(visitor: Page, gallery: Service) -> None:
    def spoil(route: Route) -> None:
        answer: dict[str, Any] = route.fetch().json()
        answer["signals"] = [{"signal": "spoilt"}]
        route.fulfill(json=answer)

    visitor.route("**/diagnosis", spoil)
    visitor.goto(f"{gallery.address}/runs/resnet50-in1k-base")
    expect(visitor.get_by_text("This part of the page failed")).to_be_visible()
    expect(visitor.locator("#steps canvas").first).to_be_visible()
    expect(visitor.locator("#timeline canvas").first).to_be_visible()


def test_charts_are_as_sharp_as_the_screen_that_the_page_is_moved_to(inside: Page) -> None:
    page = inside
    move(page, "/runs/resnet50-in1k-base#workers")
    for panel in ("#steps", "#workers", "#timeline"):
        expect(page.locator(f"{panel} canvas").first).to_be_visible()
    screen = {"width": 1440, "height": 901, "deviceScaleFactor": 2, "mobile": False}
    screens = page.context.new_cdp_session(page)
    screens.send("Emulation.setDeviceMetricsOverride", screen)
    ratios = "[...new Set([...document.querySelectorAll('canvas')].map(each => each.width / each.clientWidth))]"
    poll(lambda: page.evaluate(ratios) == [2])
    screens.send("Emulation.setDeviceMetricsOverride", screen | {"height": 900, "deviceScaleFactor": 1})


@pytest.mark.soak  # each time: frontend/test/store/run.test.ts
def test_an_answer_to_an_earlier_choice_changes_nothing(inside: Page) -> None:
    page = inside
    held: list[Route] = []

    def hold(route: Route) -> None:
        if "rank=1&" in f"{route.request.url}&":
            held.append(route)
        else:
            route.continue_()

    page.route("**/series?**", hold)
    move(page, "/runs/detr-coco-ddp?table=steps")
    steps = page.locator("#steps tbody")
    expect(steps.first).to_be_visible()
    page.get_by_label("Rank", exact=True).select_option("1")
    poll(lambda: page.wait_for_timeout(50) or held)  # type: ignore[func-returns-value]  # lets the browser go on
    with page.expect_response(lambda answer: "/series?" in answer.url and "rank=2" in answer.url):
        page.get_by_label("Rank", exact=True).select_option("2")
    page.wait_for_timeout(200)
    shown = steps.first.inner_text()
    for route in held:
        # The page may have cancelled it.
        with suppress(PlaywrightError):
            route.continue_()
    page.wait_for_timeout(500)
    assert steps.first.inner_text() == shown
    expect(page.get_by_label("Rank", exact=True)).to_have_value("2")


@pytest.mark.soak  # each time: frontend/test/api/live.test.ts
def test_a_stream_that_says_nothing_is_opened_anew(timed: Page, gallery: Service) -> None:
    streams: list[Route] = []

    def stall(route: Route) -> None:
        streams.append(route)

    timed.route("**/api/v1/events?**", stall)
    timed.clock.install()
    timed.goto(f"{gallery.address}/runs/resnet50-in1k-base")
    expect(timed.locator("h1")).to_be_visible()
    poll(lambda: timed.wait_for_timeout(50) or streams)  # type: ignore[func-returns-value]
    opened = len(streams)
    timed.clock.run_for(40_000)
    poll(lambda: timed.wait_for_timeout(50) or len(streams) > opened)  # type: ignore[func-returns-value]


@pytest.mark.soak  # each time: frontend/test/api/live.test.ts and store/connection.test.ts
def test_who_has_to_sign_in_is_not_said_to_be_connecting(visitor: Page, gallery: Service) -> None:
    service = visitor.request.get(f"{gallery.address}/api/v1/service").json()
    asking = service | {"token_required": True, "signed_in": False}
    visitor.route("**/api/v1/service", lambda route: route.fulfill(json=asking))
    for path in ("runs", "events"):
        visitor.route(f"**/api/v1/{path}?**", lambda route: route.fulfill(status=401, json={"error": REFUSED}))
    visitor.goto(gallery.address)
    expect(visitor.get_by_label("Access token")).to_be_visible()
    expect(visitor.locator(".link-state").first).to_have_text("connected")


@pytest.mark.soak  # each time: frontend/test/store/connection.test.ts and store/run.test.ts
def test_compare_and_a_missing_run_do_not_wait_for_a_stream(visitor: Page, gallery: Service) -> None:
    visitor.goto(f"{gallery.address}/compare")
    expect(visitor.locator(".link-state").first).to_have_text("connected")
    asked: list[str] = []
    visitor.on("request", lambda request: asked.append(request.url))
    visitor.goto(f"{gallery.address}/runs/no-such-run")
    expect(visitor.get_by_text("There is no run no-such-run")).to_be_visible()
    visitor.wait_for_timeout(500)
    assert len([url for url in asked if "/api/v1/runs/no-such-run" in url]) == 1
