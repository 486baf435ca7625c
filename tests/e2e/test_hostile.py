"""What agents write is drawn as text by the real page: nothing of it runs, loads, or changes text beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Page, expect

from tests.app.made_windows import LOADER, RUN, made_stream, made_window, posted
from tests.app.serving import Service, judged, start_service
from tests.e2e.conftest import show
from underfed_server.terminal.client import Client

ATTACKS = (
    "<img src=x onerror=\"document.title='owned'\">",
    "<script>document.title='owned'</script>",
    "\"><svg onload=document.title='owned'>",
    "javascript:document.title='owned'",
    "{{constructor.constructor('document.title=1')()}}",
    "</title><h1>owned</h1>",
)
HOSTILE = "".join(ATTACKS)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    served = start_service(tmp_path_factory.mktemp("attacked") / "underfed.db")
    try:
        attack(served)
        yield served
    finally:
        served.kill()


def attack(service: Service) -> None:
    """A run with an attack in every text that an agent or a person may write."""
    texts = {name: f"{name} {HOSTILE}" for name in ("name", "user", "hostname", "script", "launcher", "agent_version")}
    run = {
        **RUN,
        **texts,
        "job": f"vision/{HOSTILE}",
        "project": f"project {HOSTILE}",
        "tags": {f"key {HOSTILE}": f"value {HOSTILE}"},
        "config": {f"key {HOSTILE}": HOSTILE},
        "command": ["python", HOSTILE],
        "host": {"cpu_count": 8, "usable_cores": 4.0, "cpu_model": HOSTILE},
        "devices": [{"gpu_index": 0, "name": HOSTILE, "uuid": HOSTILE}],
        "not_measured": {"gpu_util_fraction": f"because {HOSTILE}"},
    }
    loader = {
        **LOADER,
        "dataset_type": HOSTILE,
        "transforms": [HOSTILE],
        "watched_at": HOSTILE,
        "not_measured": {"load_us": HOSTILE},
    }
    storage = {"loader": "train", "mount": HOSTILE, "file_system": HOSTILE, "device": HOSTILE, "example": HOSTILE}
    for window in made_stream(10):
        described = {"run": run, "loaders": [loader], "storage": [storage]} if "run" in window else {}
        send(service, window | described)
    end = {"status": "finished", "exit_reason": f"Traceback {HOSTILE}", "exit_code": 0}
    send(service, made_window(10, end=end))
    judged(Client(service.address), "run-1")
    changes = {"name": f"edited {HOSTILE}", "notes": HOSTILE, "tags": {f"mine {HOSTILE}": HOSTILE}}
    ask(service, "/api/v1/runs/run-1", json.dumps(changes).encode(), "PATCH")


def send(service: Service, window: dict[str, object]) -> None:
    ask(service, "/api/v1/ingest", posted(window), "POST")


def ask(service: Service, path: str, body: bytes, method: str) -> None:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {service.owner_token}"}
    request = Request(f"{service.address}{path}", body, headers, method=method)
    with urlopen(request, timeout=20) as answer:
        assert answer.status == 200


def is_unharmed(page: Page) -> None:
    """Nothing of the attacks became an element, and none ran."""
    assert page.evaluate("document.title") != "owned"
    assert page.evaluate("[...document.querySelectorAll('h1')].filter(h => h.textContent === 'owned').length") == 0
    assert page.evaluate("document.querySelectorAll('[onerror],[onload],img[src=x]').length") == 0
    assert page.evaluate("[...document.querySelectorAll('a')].filter(a => a.protocol === 'javascript:').length") == 0
    scripts = page.evaluate("[...document.scripts].filter(script => !script.src).length")
    assert scripts == 0


def test_every_text_is_drawn_as_it_was_written(page: Page, attacked: Service) -> None:
    page.goto(attacked.address)
    for path in ("/", "/runs/run-1"):
        show(page, path)
        expect(page.get_by_text(f"edited {ATTACKS[0]}").first).to_be_visible()
        page.wait_for_timeout(1_000)
        is_unharmed(page)


def test_an_address_is_drawn_as_text_too(visitor: Page, attacked: Service) -> None:
    visitor.goto(f"{attacked.address}/runs/%3Cimg%20src=x%20onerror=document.title='owned'%3E")
    expect(visitor.get_by_text("There is nothing at this address")).to_be_visible()
    is_unharmed(visitor)


def test_the_policy_stops_what_would_get_through(visitor: Page, attacked: Service, tmp_path: Path) -> None:
    """A page that had the hole: neither the script in it, nor its handler, nor another site's file is run or sent."""
    visitor.goto(attacked.address)
    violations = visitor.evaluate(
        """async () => {
            const seen = []
            document.addEventListener('securitypolicyviolation', event => seen.push(event.effectiveDirective))
            const hole = document.createElement('div')
            document.body.append(hole)
            hole.innerHTML = '<img src=x onerror="document.title=`owned`"><form action="http://127.0.0.1:9/"></form>'
            const script = document.createElement('script')
            script.textContent = 'document.title = `owned`'
            document.body.append(script)
            await fetch('http://127.0.0.1:9/').catch(() => null)
            hole.querySelector('form').submit()
            await new Promise(resolve => setTimeout(resolve, 300))
            return seen
        }"""
    )
    assert {"script-src-attr", "script-src-elem", "connect-src", "form-action"} <= set(violations)
    assert visitor.evaluate("document.title") != "owned"


def test_text_that_reverses_direction_does_not_affect_its_neighbours(page: Page, attacked: Service) -> None:
    turned = "\u202ename\u2066"
    send(attacked, made_window(0, run_id="turned", run={**RUN, "name": turned}))
    page.goto(attacked.address)
    row = page.locator("tr", has=page.locator('a[href="/runs/turned"]'))
    expect(row).to_be_visible()
    status = row.get_by_text("running").first
    assert status.evaluate("each => getComputedStyle(each).direction") == "ltr"
    assert row.locator('a[href="/runs/turned"]').evaluate("each => getComputedStyle(each).unicodeBidi") in (
        "isolate",
        "plaintext",
        "isolate-override",
    )
