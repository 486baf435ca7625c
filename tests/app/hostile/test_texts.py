"""What agents and people write is text everywhere: in the API, in the log, in a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import zlib
from pathlib import Path

import httpx2 as httpx

from tests.app.conftest import on_sqlite_alone
from tests.app.hostile.conftest import TOKEN, Victim
from tests.app.made_windows import RUN, made_stream, made_window, posted
from tests.app.operations.asking import ask, lines_of
from tests.app.serving import IMPORTED
from tests.fakes import forkserver
from tests.fakes.environment import clean_environment
from underfed_server.terminal.console import plain

CONTROLS = "\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b2J\r\n\u202e\u2066\u200b"
MARKUP = "[bold red]shout[/] [link=http://evil.example]here[/link] :skull:"
HOSTILE = f"{CONTROLS}{MARKUP}<script>alert(1)</script>"


def hostile_run(victim: Victim, run_id: str = "run-1") -> None:
    texts = {name: f"{name}{HOSTILE}" for name in ("name", "user", "hostname", "job", "script")}
    hostile = {**RUN, **texts, "tags": {f"k{HOSTILE}": f"v{HOSTILE}"}, "command": [f"python{HOSTILE}"]}
    for window in made_stream(3, run_id=run_id):
        described = window | ({"run": hostile} if "run" in window else {})
        assert victim.ask("/api/v1/ingest", posted(described)).status == 200
    end = {"status": "crashed", "exit_reason": f"Traceback{HOSTILE}", "exit_code": 1}
    assert victim.ask("/api/v1/ingest", posted(made_window(3, run_id=run_id, end=end))).status == 200


def in_a_terminal(victim: Victim, *arguments: str) -> str:
    """What a command of ours sends to a terminal."""
    inner, outer = pty.openpty()
    environment = clean_environment(UNDERFED_URL=victim.address, UNDERFED_TOKEN=TOKEN, COLUMNS="400", TERM="xterm")
    command = [forkserver.python(IMPORTED), "-m", "underfed.commands.cli", *arguments]
    process = subprocess.Popen(command, stdout=outer, stderr=outer, env=environment)
    os.close(outer)
    parts = []
    # A terminal whose other end was closed reads as an error, not as an end.
    try:
        while part := os.read(inner, 65_536):
            parts.append(part)
    except OSError:
        pass
    os.close(inner)
    assert process.wait() == 0, b"".join(parts)
    return b"".join(parts).decode()


@on_sqlite_alone
def test_text_from_an_agent_does_not_control_the_terminal(victim: Victim) -> None:
    hostile_run(victim)
    for arguments in (("runs",), ("show", "run-1")):
        shown = in_a_terminal(victim, *arguments)
        for order in ("\x1b]", "\x1b[2J", "\x9b", "\u202e", "\u2066", "\u200b", "\x07", "\x1b[31mk", "\x1b]8;"):
            assert order not in shown
        assert "💀" not in shown
    # The API's object is printed unchanged, and does not control the terminal either.
    shown = in_a_terminal(victim, "runs", "--json")
    assert "\x1b" not in shown
    assert "\x9b" not in shown
    (run,) = json.loads(shown)["runs"]
    assert run["name"] == f"name{HOSTILE}"


def test_plain_text_is_left_alone() -> None:
    assert plain("a\x1b[2Jb\u202ec\nd") == "a\ufffd[2Jb\ufffdc\nd"
    assert plain("Größe × 2 – 漢字 \N{WOMAN}") == "Größe × 2 – 漢字 \N{WOMAN}"


@on_sqlite_alone
def test_the_log_has_one_line_for_each_thing_said_whatever_was_sent(victim: Victim) -> None:
    hostile_run(victim)
    for path in ("/api/v1/runs/a%0a%1b[2Jb", "/api/v1/%0d%0aforged", "/api/v1/runs?q=%0aforged"):
        victim.ask(path)
    victim.ask("/api/v1/ingest", b'{"version": 1, "run_id": "a\\nforged"}')
    ask(victim.address, "/api/v1/runs", headers={"Authorization": "Bearer x\u009b", "X-Request-Id": "a b"})
    lines = lines_of(victim.log)
    assert lines
    raw = victim.log.read_bytes()
    assert b"\x1b" not in raw
    assert raw.isascii()


@on_sqlite_alone
def test_what_is_written_comes_back_as_it_was_and_as_json(victim: Victim) -> None:
    hostile_run(victim)
    answer = victim.ask("/api/v1/runs/run-1")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    run = answer.json
    assert (run["name"], run["tags"]) == (f"name{HOSTILE}", {f"k{HOSTILE}": f"v{HOSTILE}"})
    assert run["exit_reason"] == f"Traceback{HOSTILE}"


@on_sqlite_alone
def test_a_bomb_is_not_inflated_beyond_its_limit(victim: Victim) -> None:
    bomb = zlib.compress(b'{"run_id": "' + b"a" * 2**27 + b'"}', 1)
    assert len(bomb) < 2**21
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Encoding": "deflate"}
    before = resident_bytes(victim)
    answer = ask(victim.address, "/api/v1/ingest", bomb, headers)
    assert (answer.status, answer.code) == (413, "too_large")
    assert resident_bytes(victim) - before < 64 * 2**20


def resident_bytes(victim: Victim) -> int:
    said = victim.ask("/metrics").body.decode()
    line = next(line for line in said.splitlines() if line.startswith("process_resident_memory_bytes "))
    return int(float(line.split()[1]))


NO_CHANGES = (
    b'{"notes": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    b'{"notes": ' + b"9" * 100_000 + b"}",
    b'{"archived": NaN}',
    b'{"archived": 1}',
    b'{"name": "\\ud800"}',
    b'{"name": "a\\u0000b"}',
    b'{"notes": "\\u0000"}',
    b'{"tags": {"k": "\\u0000"}}',
    b'{"tags": {"\\u0000": "v"}}',
    b'{"name": "\xed\xa0\x80"}',
    b"\xff\xfe",
)


def test_what_no_page_sends_is_refused_and_changes_nothing(victim: Victim) -> None:
    hostile_run(victim)
    before = victim.ask("/api/v1/runs/run-1").json
    for body in NO_CHANGES:
        assert patch(victim, body) in (400, 422), body[:40]
    after = victim.ask("/api/v1/runs/run-1").json
    for name in ("name", "tags", "notes", "archived_at"):
        assert after[name] == before[name]


def patch(victim: Victim, body: bytes) -> int:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    return int(httpx.patch(f"{victim.address}/api/v1/runs/run-1", content=body, headers=headers).status_code)


@on_sqlite_alone
def test_a_run_is_not_found_by_a_path(victim: Victim, tmp_path: Path) -> None:
    for run_id in ("..", "%2e%2e", "a/../b", "run-1%00", "run-1%0a"):
        assert victim.ask(f"/api/v1/runs/{run_id}").status in (404, 405, 422)
