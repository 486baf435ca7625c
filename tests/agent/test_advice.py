"""``--apply``: the advice for a run is requested from the service; what cannot be set is refused before the command
starts."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.fakes.forkserver import python
from tests.fakes.launching import own_lines, run_ready
from tests.fakes.service import wait_until
from underfed.errors import ConfigError
from underfed.exchange.config import Value
from underfed.launcher.advice import Service, take_advice
from underfed.trainer.settings.wanted import NOT_FOUND, Identity, Wanted, decode

WORKERS: dict[str, Any] = {
    "change": "num_workers", "settings": {"num_workers": 4, "prefetch_factor": 2}, "predicted_speedup": 1.86,
    "low": 1.7, "high": 2.0, "is_promised": True, "loader": "loader-1",
}  # fmt: skip
TMPFS: dict[str, Any] = {"change": "tmpfs", "settings": {}, "predicted_speedup": None}
BATCHES = {"change": "vectorize_collate", "settings": {"collate_fn": "mine"}, "predicted_speedup": 1.1}
HAVING = {"num_workers": 2, "prefetch_factor": 2}
"""The settings of an advice are complete: with those that the run had."""
STRATEGY = {
    "change": "sharing_strategy",
    "loader": "loader-1",
    "settings": {**HAVING, "sharing_strategy": "file_system"},
}
THREADS = {"change": "threads_per_worker", "loader": "loader-1", "settings": {**HAVING, "threads_per_worker": 1}}
PERSISTENT = {"change": "persistent_workers", "loader": "loader-1", "settings": {**HAVING, "persistent_workers": True}}
ORDER = {"change": "in_order", "loader": "loader-1", "settings": {**HAVING, "in_order": False}}
NONE = WORKERS | {"settings": {"num_workers": 0, "prefetch_factor": None}, "is_promised": False}

RUNS: dict[str, tuple[str, str, list[dict[str, Any]]]] = {
    "resnet-3": ("vision", "resnet", [TMPFS, BATCHES, WORKERS]),
    "bert-1": ("text", "bert", []),
    "bert-2": ("text", "bert", [TMPFS]),
    "tiny-1": ("text", "tiny", [NONE]),
    "threads-1": ("audio", "threads", [STRATEGY, TMPFS, THREADS, WORKERS]),
    "kept-1": ("audio", "kept", [PERSISTENT, WORKERS]),
    "order-1": ("audio", "order", [BATCHES, ORDER]),
    "two-1": ("audio", "two", [WORKERS, THREADS, WORKERS | {"loader": "val"}]),
}
"""Newest first: project, name, what is advised."""
LINES = Path("tests/fakes/plain.py").read_text().splitlines()
CONSTRUCTED = next(line for line, text in enumerate(LINES, 1) if "= DataLoader(" in text)
LOADERS: list[dict[str, Any]] = [
    {"loader": "loader-1", "constructed_at": f"tests/fakes/plain.py:{CONSTRUCTED}", "dataset_type": "Squares"},
    {"loader": "loader-2", "overrides": {"num_workers": 1}},
    {"loader": "val"},
]
"""The same of every run."""


class Handler(BaseHTTPRequestHandler):
    """The three questions that are asked, answered as the API has it, and windows taken in."""

    windows: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        window = json.loads(gzip.decompress(self.rfile.read(int(self.headers["Content-Length"]))))
        self.windows.append(window)
        self._answer(200, {"next_window_index": window["window_index"] + 1, "wants_run": False})

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if self.headers["Authorization"] != "Bearer secret":
            self._answer(401, {"error": {"code": "unauthorised", "message": "a token is needed"}})
        elif parts.path == "/api/v1/runs":
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            runs = [
                {"run_id": run_id, "project": project, "name": name}
                for run_id, (project, name, _) in RUNS.items()
                if query.get("project", project) == project and query.get("q", "") in run_id
            ]
            self._answer(200, {"runs": runs, "next_cursor": None})
        else:
            run_id = parts.path.removeprefix("/api/v1/runs/").removesuffix("/diagnosis")
            found = RUNS.get(run_id)
            diagnosis: dict[str, Any] = {"run_id": run_id, "advice": found[2]} if found else {"error": {}}
            self._answer(
                200 if found else 404, diagnosis if parts.path.endswith("/diagnosis") else {"loaders": LOADERS}
            )

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def known(address: str, monkeypatch: pytest.MonkeyPatch) -> Service:
    # A proxy for the web that knows nothing of a service of one's own.
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    return Service(address, "secret")


FOUND = Identity(str(LOADERS[0]["constructed_at"]), None, "Squares")
BESIDE = Wanted("loader-2", {"num_workers": 1}, "resnet-3")
"""As the run had it already."""


@pytest.mark.parametrize("wanted", ["resnet-3", "resnet", "res", "latest"])
def test_the_first_advice_that_can_be_set_is_taken_for_its_loader(known: Service, wanted: str) -> None:
    advised = take_advice(known, wanted, None, None)
    settings: dict[str, Value] = {"num_workers": 4, "prefetch_factor": 2}
    assert (advised.run_id, advised.advice) == ("resnet-3", [WORKERS])
    assert advised.wanted == [Wanted("loader-1", settings, "resnet-3", FOUND), BESIDE]


def test_each_loader_gets_what_is_advised_for_it(known: Service) -> None:
    advised = take_advice(known, "two-1", None, None)
    assert [(each.loader, each.settings["num_workers"]) for each in advised.wanted] == [
        ("loader-1", 4), ("val", 4), ("loader-2", 1)
    ]  # fmt: skip


def test_the_latest_is_the_latest_of_the_project_and_name(known: Service) -> None:
    assert take_advice(known, "latest", "text", "tiny").run_id == "tiny-1"
    assert take_advice(known, "latest", None, "tiny").wanted[0].settings == {"num_workers": 0}
    with pytest.raises(ConfigError, match="of project 'vision' called 'tiny'"):
        take_advice(known, "latest", "vision", "tiny")


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ("gpt", "knows no run whose id begins so"),
        ("bert", "2 run ids begin so: bert-1, bert-2"),
        ("bert-1", "nothing is advised for bert-1"),
        ("bert-2", "the advice for bert-2 cannot be set from outside: tmpfs"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_the_reason(known: Service, wanted: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        take_advice(known, wanted, None, None)


def test_a_service_that_wants_a_token_says_so(address: str) -> None:
    with pytest.raises(ConfigError, match="401"):
        take_advice(Service(address, None), "latest", None, None)


def test_the_command_receives_what_is_applied_and_the_user_reads_it(known: Service) -> None:
    names = ("UNDERFED_SET", "UNDERFED_ADVICE_OF")
    beside = ("num_workers=3", "in_order=false", "loader-1.prefetch_factor=6", "loader-9.num_workers=1")
    done = run_ready(
        *("--apply", "res", *(part for word in beside for part in ("--set", word)), "--", "printenv", *names),
        UNDERFED_URL=known.url,
        UNDERFED_TOKEN="secret",
    )
    encoded, advice_of = done.stdout.decode().splitlines()
    settings: dict[str, Value] = {"num_workers": 3, "prefetch_factor": 6, "in_order": False}
    given = Wanted("loader-1", settings, "resnet-3", FOUND), BESIDE, Wanted("loader-9", {"num_workers": 1})
    assert (decode(encoded), advice_of) == (({}, given), "resnet-3")
    assert own_lines(done.stderr)[0] == (
        "underfed: run resnet-3 advises num_workers=4, prefetch_factor=2 for loader-1, constructed at "
        f"{FOUND.constructed_at}, over Squares (× 1.70–2.00)"
    )


@pytest.mark.parametrize(
    ("wanted", "settings"),
    [
        ("threads-1", {**HAVING, "threads_per_worker": 1}),
        # That each setting is applied to a loader is tried without a launcher.
        pytest.param("kept-1", {**HAVING, "persistent_workers": True}, marks=pytest.mark.soak),
        pytest.param("order-1", {**HAVING, "in_order": False}, marks=pytest.mark.soak),
    ],
)
def test_the_run_has_what_was_advised_and_says_whose_advice_it_was(
    known: Service, wanted: str, settings: dict[str, Any], run_id: str
) -> None:
    done = run_ready(
        *("--apply", wanted, "--", python(), "-m", "tests.fakes.plain"),
        UNDERFED_URL=known.url,
        UNDERFED_TOKEN="secret",
    )
    assert done.returncode == 0
    wait_until(lambda: any(window["run_id"] == run_id and "end" in window for window in Handler.windows), "the end")
    windows = [window for window in Handler.windows if window["run_id"] == run_id]
    run = [window["run"] for window in windows if "run" in window][-1]
    assert run["advice_of"] == wanted
    assert run["overrides"] == {f"loader-1.{name}": value for name, value in settings.items()}
    loader = [window["loaders"][0] for window in windows if window.get("loaders")][-1]
    assert settings.items() <= loader["settings"].items() and loader["overrides"] == settings
    assert run["not_measured"]["set:loader-2.num_workers"] == NOT_FOUND
    assert own_lines(done.stderr)[-2] == f"underfed: --set loader-2.num_workers=1: {NOT_FOUND}, so nothing was set"
