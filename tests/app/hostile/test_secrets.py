"""No secret in the log, the database, an answer or the page, however it was used, rightly and wrongly."""

from __future__ import annotations

import json
import socket
from typing import Any
from urllib.parse import urlsplit

import httpx2 as httpx
from sqlalchemy import create_engine, select

from tests.app.conftest import on_sqlite_alone
from tests.app.described import PATHS
from tests.app.hostile.conftest import TOKEN, Victim
from tests.app.made_windows import made_window, posted
from underfed_server.store.databases import tables

READABLE = [
    path.format(run_id="run-1", project="vision", token_id="x", alert_id="x")
    for path, methods in PATHS.items()
    if "get" in methods and path != "/api/v1/events"
]


def test_a_secret_is_shown_where_it_is_made_and_nowhere_else(victim: Victim) -> None:
    asked = json.dumps({"name": "team", "scopes": ["admin"]}).encode()
    made = victim.ask("/api/v1/tokens", asked).json
    secrets, answers = {TOKEN, made["token"]}, []
    with httpx.Client(base_url=victim.address) as browser:
        answers.append(browser.post("/api/v1/session", json={"token": made["token"]}))
        secrets.add(browser.cookies["underfed_session"])
        for secret in sorted(secrets):
            answers += used_in_every_way(browser, secret)
        answers.append(browser.delete("/api/v1/session"))
    for answer in answers:
        shown = answer.text + str([item for item in answer.headers.items() if item[0] != "set-cookie"])
        assert [secret for secret in secrets if secret in shown] == []
    log = victim.log.read_text()
    assert "/api/v1/runs" in log, "requests are logged at this level"
    assert [secret for secret in secrets if secret in log] == []
    assert [secret for secret in secrets if secret in everything(victim)] == []


def used_in_every_way(browser: httpx.Client, secret: str) -> list[Any]:
    bearer = {"Authorization": f"Bearer {secret}"}
    answers: list[Any] = [browser.get(path, headers=bearer) for path in READABLE]
    answers.append(browser.get("/"))
    # As people paste it by mistake.
    for path in (f"/api/v1/runs?token={secret}", f"/api/v1/runs/{secret[:20]}", f"/?token={secret}"):
        answers.append(browser.get(path, headers={"Referer": f"{browser.base_url}/?token={secret}"}))
    for header in (
        {"Authorization": secret},
        {"Authorization": f"Basic {secret}"},
        {"Cookie": f"underfed_session={secret}"},
    ):
        answers.append(browser.get("/api/v1/runs", headers=header))
    for body in ({"token": secret + "x"}, {"token": [secret]}, {"wrong": secret}, secret):
        answers.append(browser.post("/api/v1/session", json=body))
    window = posted(made_window(0))
    answers.append(
        browser.post("/api/v1/ingest", content=window, headers={"Content-Type": "application/json", **bearer})
    )
    return answers


def everything(victim: Victim) -> str:
    """All that the database keeps of tokens and sessions, and SQLite's files byte for byte."""
    engine = create_engine(victim.database_url)
    with engine.connect() as connection:
        rows = [list(connection.execute(select(table))) for table in (tables.token, tables.session, tables.run)]
    engine.dispose()
    files = b"".join(path.read_bytes() for path in sorted(victim.directory.glob("underfed.db*")))
    assert rows[0], "the token that was made lies there"
    return f"{rows}{files.decode('latin-1')}"


OUTSIDE = (
    "/assets/../../../../etc/passwd",
    "/assets/..%2f..%2f..%2fetc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/../app/underfed_server/settings.py",
    "/assets/%5c..%5c..%5csettings.py",
    "/api/v1/runs/..%2f..%2f..%2fetc%2fpasswd",
    "/docs/../../etc/passwd",
)


@on_sqlite_alone
def test_a_path_leads_nowhere_but_to_what_is_served(victim: Victim) -> None:
    for path in OUTSIDE:
        answer = asked_as_it_is(victim, path)
        status, _, body = answer.partition(b"\r\n\r\n")
        assert b"root:" not in body
        assert b"SettingsError" not in body
        is_the_page = b"<noscript>Underfed draws this page" in body
        assert is_the_page or status.split(b" ", 2)[1] in (b"400", b"404", b"503"), answer


def asked_as_it_is(victim: Victim, path: str) -> bytes:
    """A usual client would normalise the path first."""
    host, port = urlsplit(victim.address).hostname, urlsplit(victim.address).port
    with socket.create_connection((str(host), port or 0), timeout=10) as connection:
        said = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n"
        connection.sendall(said.encode())
        return b"".join(iter(lambda: connection.recv(65_536), b""))
